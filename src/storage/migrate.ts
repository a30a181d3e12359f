import type { Database } from 'better-sqlite3';
import { UserError } from '../errors.ts';
import { migrations } from './schema.ts';

/** Marks the file as ours in SQLite's header: ASCII `nswp`. */
const APPLICATION_ID = 0x6e737770;

/**
 * Refuses what this nightsweep may not touch; reads only.
 *
 * @throws UserError for a database of another program and for one of a newer nightsweep.
 */
export function checkOwner(db: Database, path: string): void {
  const id = Number(db.pragma('application_id', { simple: true }));
  const version = schemaVersion(db);
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get();
  const isNew = version === 0 && tables === 0 && id === 0;
  if (id !== APPLICATION_ID && !isNew) {
    throw new UserError(`${path} is a database of another program`, {
      hint: 'name the database of nightsweep with --db',
    });
  }
  if (version > migrations.length) {
    throw new UserError(
      `${path} was written by a newer nightsweep (schema ${version}, this one knows ${migrations.length})`,
      { hint: 'update nightsweep, or name another database with --db' },
    );
  }
}

/**
 * Brings the schema up to date in one transaction; a read-only file must be up to date already.
 *
 * @throws UserError when it is not.
 */
export function migrate(db: Database, path: string): void {
  if (db.readonly) {
    requireCurrent(db, path);
    return;
  }
  // Immediate: two processes that open a new file at once must not both create the tables.
  db.transaction(() => {
    const version = schemaVersion(db);
    if (version === migrations.length) return;
    for (const sql of migrations.slice(version)) db.exec(sql);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

function requireCurrent(db: Database, path: string): void {
  const version = schemaVersion(db);
  if (version === migrations.length) return;
  const what =
    version === 0
      ? 'holds no study yet'
      : `was written by an older nightsweep (schema ${version}, now ${migrations.length})`;
  throw new UserError(`${path} ${what}`, {
    hint: 'run a command that writes to it once, such as `nightsweep sweep`',
  });
}

function schemaVersion(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}
