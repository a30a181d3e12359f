import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rankTrials } from '../../src/ranking/rank-trials.ts';
import { exportFormats } from '../../src/report/export-study.ts';
import { rankingJson } from '../../src/report/ranking-json.ts';
import { rankingReport } from '../../src/report/ranking-report.ts';
import { trialPoints } from '../../src/report/study-points.ts';
import { studyRecords } from '../../src/report/study-records.ts';
import { studyStatus } from '../../src/report/study-status.ts';
import { storeImport } from '../../src/storage/import/store-import.ts';
import { openStore } from '../../src/storage/open-store.ts';
import type { StoredStudy, StudyStore } from '../../src/storage/study-store.ts';

const AWKWARD = '{"a": "50%, b", "c": "say ""x"""}';

function importInto(store: StudyStore, file: string, algorithm: string | null) {
  const path = join(import.meta.dirname, '../fixtures/tables', file);
  return storeImport(store, {
    study: 'case',
    assignment: { 'speculative-algorithm': algorithm },
    isBaseline: algorithm === null,
    text: readFileSync(path, 'utf8'),
    source: file,
    nowMs: 1,
  });
}

function imported(mtp = 'mtp.txt'): { store: StudyStore; study: StoredStudy } {
  const store = openStore(':memory:');
  const { study } = importInto(store, 'no-mtp.txt', null);
  importInto(store, mtp, 'NEXTN');
  store.planTrials(study.id, [
    { assignment: { json: AWKWARD }, isBaseline: false, state: 'failed', reason: 'line 1\n"2", 3' },
  ]);
  return { store, study };
}

const FLAT = new Map([1, 4, 16, 32, 64, 128].map((c) => [c, c < 64 ? 0.2 : 0.1]));

function ranked({ store, study }: ReturnType<typeof imported>, profile = FLAT) {
  return rankTrials({ trials: store.trialData(study.id), profile, scoreKind: 'relative' });
}

describe('an imported study', () => {
  test('ranks as JSON in the shape that scripts rely on', () => {
    const json = rankingJson('case', ranked(imported()));
    expect(json).toMatchObject({ study: 'case', score_kind: 'relative', kinds_disagree: true });
    expect(json.profile).toEqual({ 1: 0.2, 4: 0.2, 16: 0.2, 32: 0.2, 64: 0.1, 128: 0.1 });
    expect(json.ranking[0]).toMatchObject({
      rank: 1,
      trial: 1,
      assignment: { 'speculative-algorithm': 'NEXTN' },
      is_baseline: false,
      eligible: true,
      score_ci: null,
      tied_with: [],
      per_concurrency: { '1': { output_tokens_per_second: 121.5, change_fraction: 0.125, n: 1 } },
    });
  });

  test('says that the kinds of score disagree, with the scores of both', () => {
    const text = rankingReport(
      { study: 'case', ranking: ranked(imported()), points: [] },
      { color: false },
    );
    expect(text).toContain('relative prefers trial 1 (trial 1 +8.65 %, trial 0 0.00 %)');
    expect(text).toContain('time prefers trial 0 (trial 1 967.2 tok/s, trial 0 1037.9 tok/s)');
    expect(text).toContain('tokens prefers trial 1 (trial 1 389.3 tok/s, trial 0 332.7 tok/s)');
  });

  test('shows the decoding concurrency and where the server was the limit', () => {
    const study = imported('mtp-fresh-baseline.txt');
    const points = trialPoints(
      study.store.trials(study.study.id),
      study.store.measurements(study.study.id),
    );
    const ranking = ranked(study, new Map([[1, 1]]));
    const text = rankingReport({ study: 'case', ranking, points }, { color: false });
    expect(text).toContain('C=1: 1.0, C=4: 3.4, C=16: 14.3, C=32: 24.1, C=64: 23.9');
    expect(text).toContain('C=32 and 64: bound by the server at about 24');
  });

  test('does not grow when the same file is imported again', () => {
    const { store, study } = imported();
    expect(importInto(store, 'mtp.txt', 'NEXTN').added).toBe(false);
    expect(store.measurements(study.id)).toHaveLength(12);
  });

  test('has a status that counts trials by state', () => {
    const { store, study } = imported();
    expect(studyStatus(store, study)).toMatchObject({
      trials: { completed: 2, failed: 1 },
      measurements: 12,
      running: null,
    });
  });
});

// Field report D17: an exported .json could not be parsed.
describe('exports (D17)', () => {
  const { store, study } = imported();
  const records = studyRecords(store, study);

  test('JSON is one valid document that holds the failed trial', () => {
    const parsed = JSON.parse(exportFormats.json(records)) as typeof records;
    expect(parsed.trials[2]).toMatchObject({ state: 'failed', assignment: { json: AWKWARD } });
    expect(parsed.measurements).toHaveLength(12);
  });

  test('JSONL is one valid object a line', () => {
    const lines = exportFormats.jsonl(records).trimEnd().split('\n');
    const kinds = lines.map((line) => (JSON.parse(line) as { record: string }).record);
    expect(kinds.filter((kind) => kind === 'measurement')).toHaveLength(12);
  });

  test('CSV quotes commas, quotes and line ends, and every row has every column', () => {
    const rows = parseCsv(exportFormats.csv(records));
    expect(new Set(rows.map((row) => row.length)).size).toBe(1);
    const assignment = rows[0]?.indexOf('assignment') ?? -1;
    const failed = rows.at(-1)?.[assignment] ?? '';
    expect(JSON.parse(failed)).toEqual({ json: AWKWARD });
    expect(rows).toHaveLength(14);
  });

  test('what is unknown is null, not zero', () => {
    expect(records.measurements[0]).toMatchObject({ output_tokens: null, duration_seconds: null });
  });

  test.each(['json', 'jsonl', 'csv'] as const)('%s holds no NaN or Infinity', (format) => {
    expect(exportFormats[format](records)).not.toMatch(/NaN|Infinity/);
  });
});

/** RFC 4180, strict. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain = '', end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g,
  )) {
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}
