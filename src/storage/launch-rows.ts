import type { Database } from 'better-sqlite3';
import { redactArgv, redactEnvironment } from '../sglang/redact.ts';

import type { LaunchEnd, LaunchReady, LaunchStart, StoredLaunch } from './study-store.ts';

interface LaunchRow {
  id: number;
  trial_id: number;
  kind: StoredLaunch['kind'];
  source: string | null;
  started_at_ms: number;
  argv: string;
  environment: string;
  log_path: string;
  versions: string;
  seed: number;
  ready_seconds: number | null;
  effective: string | null;
  sglang_version: string | null;
  state: StoredLaunch['state'];
  cause: string | null;
  message: string | null;
  exit_code: number | null;
  exit_signal: string | null;
  log_tail: string;
  crashed_at_concurrency: number | null;
  ended_at_ms: number | null;
}

export function insertLaunch(db: Database, launch: LaunchStart): number {
  const result = db
    .prepare(
      `INSERT INTO launches (trial_id, kind, started_at_ms, argv, environment, log_path, versions, seed)
       SELECT trials.id, 'started', :startedAtMs, :argv, :environment, :logPath, :versions,
         coalesce(:seed, studies.seed)
       FROM trials JOIN studies ON studies.id = trials.study_id WHERE trials.id = :trialId`,
    )
    .run({
      trialId: launch.trialId,
      startedAtMs: Math.round(launch.startedAtMs),
      // Callers redact; a key that slipped through must still not reach the disk.
      argv: JSON.stringify(redactArgv(launch.argv)),
      environment: JSON.stringify(redactEnvironment(launch.environment)),
      logPath: launch.logPath,
      versions: JSON.stringify(launch.versions ?? {}),
      seed: launch.seed ?? null,
    });
  if (result.changes !== 1) throw new Error(`there is no trial with id ${launch.trialId}`);
  return Number(result.lastInsertRowid);
}

export function recordReady(db: Database, launchId: number, ready: LaunchReady): void {
  const { changes } = db
    .prepare(
      `UPDATE launches SET ready_seconds = :readySeconds, effective = :effective,
         sglang_version = :sglangVersion
       WHERE id = :launchId AND state = 'running'`,
    )
    .run({
      launchId,
      readySeconds: ready.readySeconds,
      effective: ready.effective === null ? null : JSON.stringify(ready.effective),
      sglangVersion: ready.sglangVersion,
    });
  if (changes !== 1) throw new Error(`launch ${launchId} is not running`);
}

export function recordEnd(db: Database, launchId: number, end: LaunchEnd): void {
  const { changes } = db
    .prepare(
      `UPDATE launches SET state = :state, cause = :cause, message = :message,
         exit_code = :exitCode, exit_signal = :exitSignal, log_tail = :logTail,
         crashed_at_concurrency = :crashedAt, ended_at_ms = :endedAtMs
       WHERE id = :launchId AND state = 'running'`,
    )
    .run({
      launchId,
      state: end.state,
      cause: end.cause,
      message: end.message,
      exitCode: end.exitCode,
      exitSignal: end.exitSignal,
      logTail: JSON.stringify(end.logTail),
      crashedAt: end.crashedAtConcurrency ?? null,
      endedAtMs: end.endedAtMs === undefined ? null : Math.round(end.endedAtMs),
    });
  if (changes !== 1) throw new Error(`launch ${launchId} has ended before`);
}

/** Ends the open launches of a study; returns how many there were. */
export function interruptLaunches(db: Database, studyId: number): number {
  return db
    .prepare(
      `UPDATE launches SET state = 'interrupted'
       WHERE state = 'running' AND trial_id IN (SELECT id FROM trials WHERE study_id = ?)`,
    )
    .run(studyId).changes;
}

/** Launches of a study in the order they were started. */
export function readLaunches(db: Database, studyId: number): StoredLaunch[] {
  const rows = db
    .prepare(
      `SELECT launches.* FROM launches JOIN trials ON trials.id = launches.trial_id
       WHERE trials.study_id = ? ORDER BY launches.id`,
    )
    .all(studyId) as LaunchRow[];
  return rows.map((row) => ({
    id: row.id,
    trialId: row.trial_id,
    kind: row.kind,
    source: row.source,
    startedAtMs: row.started_at_ms,
    argv: JSON.parse(row.argv) as string[],
    environment: JSON.parse(row.environment) as Record<string, string>,
    logPath: row.log_path,
    versions: JSON.parse(row.versions) as Record<string, string>,
    seed: row.seed,
    readySeconds: row.ready_seconds,
    effective:
      row.effective === null ? null : (JSON.parse(row.effective) as Record<string, unknown>),
    sglangVersion: row.sglang_version,
    state: row.state,
    cause: row.cause,
    message: row.message,
    exitCode: row.exit_code,
    exitSignal: row.exit_signal,
    logTail: JSON.parse(row.log_tail) as string[],
    crashedAtConcurrency: row.crashed_at_concurrency,
    endedAtMs: row.ended_at_ms,
  }));
}
