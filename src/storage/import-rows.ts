import type { Database } from 'better-sqlite3';
import { insertRow } from './measurement-rows.ts';
import type { ImportedLaunch } from './study-store.ts';

/**
 * Stores measurements made elsewhere as one launch of kind `imported`, in the trial's next round:
 * a second file is a replicate. The same content is stored once.
 */
export function insertImported(
  db: Database,
  launch: ImportedLaunch,
): { readonly launchId: number; readonly added: boolean } {
  const known = db
    .prepare('SELECT id FROM launches WHERE trial_id = ? AND source_hash = ?')
    .pluck()
    .get(launch.trialId, launch.sourceHash) as number | undefined;
  if (known !== undefined) return { launchId: known, added: false };
  const round = db
    .prepare('SELECT coalesce(max(round) + 1, 0) FROM measurements WHERE trial_id = ?')
    .pluck()
    .get(launch.trialId) as number;
  const launchId = insertImportedLaunch(db, launch);
  const repeats = new Map<number, number>();
  for (const metrics of launch.metrics) {
    const repeat = repeats.get(metrics.concurrency) ?? 0;
    repeats.set(metrics.concurrency, repeat + 1);
    insertRow(db, {
      launchId,
      trialId: launch.trialId,
      round,
      concurrency: metrics.concurrency,
      repeat,
      startedAtMs: launch.importedAtMs,
      metrics,
      conditions: launch.conditions,
    });
  }
  return { launchId, added: true };
}

function insertImportedLaunch(db: Database, launch: ImportedLaunch): number {
  const result = db
    .prepare(
      `INSERT INTO launches (trial_id, kind, source, source_hash, started_at_ms, argv, environment,
         log_path, versions, seed, state)
       SELECT trials.id, 'imported', :source, :sourceHash, :importedAtMs, '[]', '{}', '', '{}',
         studies.seed, 'completed'
       FROM trials JOIN studies ON studies.id = trials.study_id WHERE trials.id = :trialId`,
    )
    .run({
      trialId: launch.trialId,
      source: launch.source,
      sourceHash: launch.sourceHash,
      importedAtMs: Math.round(launch.importedAtMs),
    });
  if (result.changes !== 1) throw new Error(`there is no trial with id ${launch.trialId}`);
  return Number(result.lastInsertRowid);
}
