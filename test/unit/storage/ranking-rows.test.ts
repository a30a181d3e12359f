import { expect, test } from 'vitest';
import type { Mark } from '../../../src/metrics/point-metrics.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { openStore } from '../../../src/storage/open-store.ts';
import { identity, metrics } from '../../contract/study-store.contract.ts';

const CAPPED: Mark = {
  code: 'value-not-in-force',
  facts: { parameter: 'max-running-requests', asked: '128', runs: '50' },
};

interface Row {
  readonly limit: number;
  readonly version: string;
  readonly marks?: readonly Mark[];
}

/** Trials that a ranking may take, of a baseline at limit 48 and these. */
function eligible(rows: readonly Row[], studyVersion: string | null = '0.5.23') {
  using store = openStore(':memory:');
  const profile = new Map([[16, 1]]);
  const studyId = store.createStudy(
    { ...identity, profile, limits: [], sglangVersion: studyVersion },
    0,
  ).id;
  const trials = store.planTrials(
    studyId,
    rows.map(({ limit }, i) => ({
      assignment: { 'max-running-requests': limit },
      isBaseline: i === 0,
      state: 'completed' as const,
    })),
  );
  for (const [i, { version, marks = [] }] of rows.entries()) {
    const trialId = trials[i]?.id ?? -1;
    const launchId = store.startLaunch({
      trialId,
      startedAtMs: 0,
      argv: [],
      environment: {},
      logPath: '',
    });
    store.launchReady(launchId, { readySeconds: 1, effective: null, sglangVersion: version });
    const key = { round: 0, concurrency: 16, repeat: 0, startedAtMs: 0 };
    const kept = { metrics: metrics({ marks }), records: [], conditions: {} };
    store.addMeasurement({ launchId, trialId, ...key, ...kept });
  }
  const ranking = rankTrials({ trials: store.trialData(studyId), profile, scoreKind: 'relative' });
  return ranking.trials.filter((trial) => trial.eligible).map(({ trial }) => trial);
}

test('rows of two versions are never ranked together: those of the study’s version are (B10)', () => {
  const rows = [
    { limit: 48, version: '0.5.23' },
    { limit: 96, version: '0.5.24' },
    { limit: 128, version: '0.5.23' },
  ];
  expect(eligible(rows)).toEqual([0, 2]);
  expect(eligible(rows, null)).toEqual([0, 2]);
});

test('a measurement of a tried value that was not in force is not ranked, one of production’s own is', () => {
  const rows = [
    { limit: 128, version: '0.5.23', marks: [CAPPED] },
    { limit: 192, version: '0.5.23', marks: [CAPPED] },
    { limit: 16, version: '0.5.23' },
  ];
  expect(eligible(rows)).toEqual([0, 2]);
});
