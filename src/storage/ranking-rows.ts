import type { Database } from 'better-sqlite3';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { cellSample } from '../ranking/cell-sample.ts';
import type { CellSample, TrialData } from '../ranking/trial-data.ts';
import type { StoredTrial } from './study-store.ts';
import { readTrials } from './trial-rows.ts';

interface SampleRow {
  trial_id: number;
  launch_id: number;
  round: number;
  concurrency: number;
  metrics: string;
}

type RankedState = TrialData['state'];

/** Trials that have measurements or ended without, by number, as the ranking takes them. */
export function readTrialData(db: Database, studyId: number): TrialData[] {
  const cells = readCells(db, studyId);
  const crashes = readCrashes(db, studyId);
  return readTrials(db, studyId).flatMap((trial) => {
    const own = cells.get(trial.id) ?? new Map<number, CellSample[]>();
    const state = stateForRanking(trial, own.size);
    if (state === undefined) return [];
    return {
      trial: trial.number,
      assignment: trial.assignment,
      isBaseline: trial.isBaseline,
      state,
      ...(trial.reason === null ? {} : { reason: trial.reason }),
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

function readCells(db: Database, studyId: number): Map<number, Map<number, CellSample[]>> {
  const rows = db
    .prepare(
      `SELECT m.trial_id, m.launch_id, m.round, m.concurrency, m.metrics
       FROM measurements m JOIN trials ON trials.id = m.trial_id
       WHERE trials.study_id = ? ORDER BY m.trial_id, m.concurrency, m.id`,
    )
    .iterate(studyId) as IterableIterator<SampleRow>;
  const byTrial = new Map<number, Map<number, CellSample[]>>();
  for (const row of rows) {
    const cells = byTrial.get(row.trial_id) ?? new Map<number, CellSample[]>();
    byTrial.set(row.trial_id, cells);
    const samples = cells.get(row.concurrency) ?? [];
    cells.set(row.concurrency, samples);
    samples.push(cellSample(row.launch_id, JSON.parse(row.metrics) as PointMetrics, row.round));
  }
  return byTrial;
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
