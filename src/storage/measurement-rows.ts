import type { Database } from 'better-sqlite3';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { insertGpuSamples } from './gpu-rows.ts';
import { insertRequests } from './request-rows.ts';
import {
  type MeasurementKey,
  type NewMeasurement,
  RefusedMeasurementError,
  type StoredMeasurement,
} from './study-store.ts';

interface MeasurementRow {
  id: number;
  launch_id: number;
  trial_id: number;
  round: number;
  concurrency: number;
  repeat: number;
  started_at_ms: number;
  metrics: string;
  conditions: string;
}

/** Stores one measurement with its requests. @throws RefusedMeasurementError as the store says. */
export function insertMeasurement(db: Database, measurement: NewMeasurement): number {
  refuseUnready(db, measurement.launchId);
  const id = insertRow(db, measurement);
  insertRequests(db, id, measurement.records);
  insertGpuSamples(db, id, measurement.gpuSamples ?? []);
  return id;
}

/** Stores the row alone, for a measurement made elsewhere. */
export function insertRow(
  db: Database,
  measurement: Omit<NewMeasurement, 'records' | 'gpuSamples'>,
): number {
  const { metrics } = measurement;
  refuseBadFigures(metrics);
  refuseDouble(db, measurement);
  const result = db
    .prepare(
      `INSERT INTO measurements (launch_id, trial_id, round, concurrency, repeat, started_at_ms,
         output_tokens_per_second, throughput_kind, tokens_from, metrics, conditions)
       VALUES (:launchId, :trialId, :round, :concurrency, :repeat, :startedAtMs,
         :outputTokensPerSecond, :throughputKind, :tokensFrom, :metrics, :conditions)`,
    )
    .run({
      launchId: measurement.launchId,
      trialId: measurement.trialId,
      round: measurement.round,
      concurrency: measurement.concurrency,
      repeat: measurement.repeat,
      startedAtMs: Math.round(measurement.startedAtMs),
      outputTokensPerSecond: metrics.outputTokensPerSecond,
      throughputKind: metrics.throughputKind,
      tokensFrom: metrics.tokensFrom,
      metrics: JSON.stringify(metrics),
      conditions: JSON.stringify(measurement.conditions),
    });
  return Number(result.lastInsertRowid);
}

/** Measurements of a study in the order they were taken. */
export function readMeasurements(db: Database, studyId: number): StoredMeasurement[] {
  const rows = db
    .prepare(
      `SELECT m.id, m.launch_id, m.trial_id, m.round, m.concurrency, m.repeat, m.started_at_ms,
         m.metrics, m.conditions
       FROM measurements m JOIN trials ON trials.id = m.trial_id
       WHERE trials.study_id = ? ORDER BY m.id`,
    )
    .all(studyId) as MeasurementRow[];
  return rows.map((row) => ({
    id: row.id,
    launchId: row.launch_id,
    trialId: row.trial_id,
    round: row.round,
    concurrency: row.concurrency,
    repeat: row.repeat,
    startedAtMs: row.started_at_ms,
    metrics: JSON.parse(row.metrics) as PointMetrics,
    conditions: JSON.parse(row.conditions) as StoredMeasurement['conditions'],
  }));
}

/** What is measured of a trial, by round, repeat and concurrency. */
export function readKeys(db: Database, trialId: number): MeasurementKey[] {
  return db
    .prepare(
      `SELECT round, concurrency, repeat FROM measurements WHERE trial_id = ?
       ORDER BY round, repeat, concurrency`,
    )
    .all(trialId) as MeasurementKey[];
}

function refuseUnready(db: Database, launchId: number): void {
  const ready = db
    .prepare('SELECT ready_seconds FROM launches WHERE id = ?')
    .pluck()
    .get(launchId) as number | null | undefined;
  if (ready !== null && ready !== undefined) return;
  throw new RefusedMeasurementError(`launch ${launchId} was never ready, nothing it gave counts`);
}

function refuseBadFigures(metrics: PointMetrics): void {
  for (const name of ['outputTokensPerSecond', 'wholeRunTokensPerSecond'] as const) {
    if (!(metrics[name] > 0)) {
      throw new RefusedMeasurementError(`${name} is ${metrics[name]}: the point failed`);
    }
  }
  const bad = pathOfBadNumber(metrics);
  if (bad !== undefined) throw new RefusedMeasurementError(`${bad} is not a finite number`);
}

/** Path of the first NaN or Infinity: JSON would silently turn it into null. */
function pathOfBadNumber(value: unknown, path = 'metrics'): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = pathOfBadNumber(inner, `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function refuseDouble(db: Database, key: MeasurementKey & { readonly trialId: number }): void {
  const found = db
    .prepare(
      `SELECT id FROM measurements
       WHERE trial_id = ? AND round = ? AND concurrency = ? AND repeat = ?`,
    )
    .get(key.trialId, key.round, key.concurrency, key.repeat);
  if (found === undefined) return;
  throw new RefusedMeasurementError(
    `round ${key.round}, concurrency ${key.concurrency}, repeat ${key.repeat} of this trial is measured already`,
  );
}
