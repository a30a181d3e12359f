import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database as Connection } from 'better-sqlite3';
import { UserError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import { loadSqlite } from './load-sqlite.ts';
import { checkOwner, migrate } from './migrate.ts';
import { networkFileSystem } from './network-file-system.ts';
import { explainSqliteError } from './sqlite-errors.ts';
import { SqliteStudyStore } from './sqlite-study-store.ts';
import type { StudyStore } from './study-store.ts';

/** How long a write waits for another process's lock: longer than any transaction of ours. */
const BUSY_TIMEOUT_MS = 60_000;

/** The log is cut back to this after a checkpoint, so that a long night does not leave a big one. */
const WAL_BYTES_KEPT = 16 * 1024 * 1024;

/** Pages (4 KiB) after which a commit moves the log into the database: about 4 MiB. */
const CHECKPOINT_PAGES = 1000;

export interface OpenOptions {
  /** Reads only: a missing file is an error, and nothing is created or migrated. */
  readonly readOnly?: boolean;
  /** `statfs` type of a directory; only tests replace it. */
  readonly fileSystemType?: (directory: string) => number;
  /** The file may not grow beyond so many pages, as on a full disk; only tests set it. */
  readonly maxPages?: number;
}

/**
 * Opens the database at `path`, creating it and its folder unless `readOnly`; `:memory:` is a
 * store that ends with the process.
 *
 * On a local disk it uses a write-ahead log, so that others can read while a sweep writes; on a
 * network file system a plain journal, with a notice. Every commit reaches the disk.
 *
 * @throws UserError when the file is missing, not ours, not readable or writable, from a newer
 *   nightsweep, or when better-sqlite3 does not fit this Node.js.
 */
export function openStore(path: string, options: OpenOptions = {}): StudyStore {
  const readOnly = options.readOnly ?? false;
  try {
    prepare(path, readOnly);
    const Database = loadSqlite();
    const db = new Database(path, { readonly: readOnly, timeout: BUSY_TIMEOUT_MS });
    try {
      checkOwner(db, path);
      const notices = readOnly ? [] : setJournal(db, path, options.fileSystemType ?? typeOf);
      db.pragma('foreign_keys = ON');
      migrate(db, path);
      if (options.maxPages !== undefined) db.pragma(`max_page_count = ${options.maxPages}`);
      return new SqliteStudyStore(db, notices);
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    throw explainSqliteError(error, path, readOnly);
  }
}

function prepare(path: string, readOnly: boolean): void {
  if (path === ':memory:') return;
  if (!existsSync(path)) {
    if (readOnly) {
      throw new UserError(`there is no database at ${path}`, {
        hint: 'name it with --db, or create it with `nightsweep sweep` or `nightsweep import`',
      });
    }
    makeFolder(dirname(path));
  } else if (!statSync(path).isFile()) {
    throw new UserError(`${path} is not a file`, { hint: 'name a file with --db' });
  }
}

/** Sets how commits are made safe; returns what the user should know about it. */
function setJournal(
  db: Connection,
  path: string,
  fileSystemType: (directory: string) => number,
): string[] {
  db.pragma('synchronous = FULL');
  const network =
    path === ':memory:' ? undefined : networkFileSystem(fileSystemType(dirname(path)));
  if (network !== undefined) {
    db.pragma('journal_mode = DELETE');
    return [
      `${path} is on a network file system (${network}): it is written with a plain journal, ` +
        'which is slower and lets nobody read during a commit; a local disk is better',
    ];
  }
  db.pragma('journal_mode = WAL');
  db.pragma(`journal_size_limit = ${WAL_BYTES_KEPT}`);
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  return [];
}

function typeOf(directory: string): number {
  return statfsSync(directory).type;
}
