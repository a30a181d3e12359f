import type { Database } from 'better-sqlite3';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { cellSample } from '../ranking/cell-sample.ts';
import { COULD_NOT_WIN } from '../ranking/race.ts';
import type { CellSample, TrialData } from '../ranking/trial-data.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { sameValue } from '../search-space/values.ts';
import type { StoredTrial } from './study-store.ts';
import { readTrials } from './trial-rows.ts';

interface SampleRow {
  trial_id: number;
  launch_id: number;
  round: number;
  concurrency: number;
  metrics: string;
  sglang_version: string | null;
}

type RankedState = TrialData['state'];

/** Trials that have measurements or ended without, by number, as the ranking takes them. */
export function readTrialData(db: Database, studyId: number): TrialData[] {
  const trials = readTrials(db, studyId);
  const cells = readCells(db, studyId, trials);
  const crashes = readCrashes(db, studyId);
  return trials.flatMap((trial) => {
    const own = cells.get(trial.id) ?? new Map<number, CellSample[]>();
    const state = stateForRanking(trial, own.size);
    if (state === undefined) return [];
    return {
      trial: trial.number,
      assignment: trial.assignment,
      isBaseline: trial.isBaseline,
      state,
      ...(trial.reason === null ? {} : { reason: trial.reason }),
      ...(trial.cause === COULD_NOT_WIN ? { dropped: true as const } : {}),
      crashedAt: crashes.get(trial.id) ?? [],
      cells: own,
    };
  });
}

/** A trial that is still being measured counts with what it has; undefined: nothing to say yet. */
function stateForRanking(trial: StoredTrial, cells: number): RankedState | undefined {
  switch (trial.state) {
    case 'planned':
    case 'skipped':
      return cells === 0 ? undefined : 'completed';
    case 'completed':
    case 'partial':
    case 'infeasible':
    case 'failed':
      return trial.state;
  }
}

function readCells(
  db: Database,
  studyId: number,
  trials: readonly StoredTrial[],
): Map<number, Map<number, CellSample[]>> {
  const rows = db
    .prepare(
      `SELECT m.trial_id, m.launch_id, m.round, m.concurrency, m.metrics, l.sglang_version
       FROM measurements m JOIN trials ON trials.id = m.trial_id JOIN launches l ON l.id = m.launch_id
       WHERE trials.study_id = ? ORDER BY m.trial_id, m.concurrency, m.id`,
    )
    .iterate(studyId) as IterableIterator<SampleRow>;
  const version = studyVersion(db, studyId);
  const baseline = trials.find(({ isBaseline }) => isBaseline)?.assignment ?? {};
  const assignments = new Map(trials.map(({ id, assignment }) => [id, assignment]));
  const byTrial = new Map<number, Map<number, CellSample[]>>();
  for (const row of rows) {
    const cells = byTrial.get(row.trial_id) ?? new Map<number, CellSample[]>();
    byTrial.set(row.trial_id, cells);
    const samples = cells.get(row.concurrency) ?? [];
    cells.set(row.concurrency, samples);
    const point = JSON.parse(row.metrics) as PointMetrics;
    const sample = cellSample(row.launch_id, point, row.round);
    const bars = [
      ...notInForce(point, assignments.get(row.trial_id) ?? {}, baseline),
      ...(isOtherVersion(row.sglang_version, version) ? [OTHER_VERSION] : []),
    ];
    samples.push(
      bars.length === 0 ? sample : { ...sample, barredBy: [...sample.barredBy, ...bars] },
    );
  }
  return byTrial;
}

/** Bars a measurement of another SGLang version than the study's: rows of two are never ranked together. */
const OTHER_VERSION = 'other-version';

/** The study's version; where it was never known, that of its first server that told it. */
function studyVersion(db: Database, studyId: number): string | null {
  const version = db
    .prepare(
      `SELECT coalesce(s.sglang_version, (
         SELECT l.sglang_version FROM launches l JOIN trials t ON t.id = l.trial_id
         WHERE t.study_id = s.id AND l.sglang_version IS NOT NULL ORDER BY l.id LIMIT 1))
       FROM studies s WHERE s.id = ?`,
    )
    .pluck()
    .get(studyId) as string | null | undefined;
  return version ?? null;
}

function isOtherVersion(own: string | null, version: string | null): boolean {
  return own !== null && version !== null && own !== version;
}

/** A value that was to be tried and did not run bars the measurement; one that production has, too, does not. */
function notInForce(
  { marks }: PointMetrics,
  assignment: Assignment,
  baseline: Assignment,
): readonly string[] {
  const isTried = (name: unknown) =>
    typeof name === 'string' && !sameValue(assignment[name] ?? null, baseline[name] ?? null);
  const found = marks.some(
    ({ code, facts }) => code === 'value-not-in-force' && isTried(facts['parameter']),
  );
  return found ? ['value-not-in-force'] : [];
}

function readCrashes(db: Database, studyId: number): Map<number, number[]> {
  const rows = db
    .prepare(
      `SELECT DISTINCT l.trial_id, l.crashed_at_concurrency AS concurrency
       FROM launches l JOIN trials ON trials.id = l.trial_id
       WHERE trials.study_id = ? AND l.crashed_at_concurrency IS NOT NULL
       ORDER BY l.trial_id, l.crashed_at_concurrency`,
    )
    .all(studyId) as { trial_id: number; concurrency: number }[];
  const byTrial = new Map<number, number[]>();
  for (const row of rows) {
    const known = byTrial.get(row.trial_id);
    if (known === undefined) byTrial.set(row.trial_id, [row.concurrency]);
    else known.push(row.concurrency);
  }
  return byTrial;
}
