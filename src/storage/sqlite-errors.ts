import { UserError } from '../errors.ts';

/** How each failure of opening reads to a user, by SQLite or system error code. */
const EXPLANATIONS: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  SQLITE_NOTADB: {
    what: 'is not an SQLite database',
    hint: 'name the database with --db; nothing was changed',
  },
  SQLITE_CORRUPT: {
    what: 'is damaged',
    hint: 'copy the file away, then try `sqlite3 FILE .recover`',
  },
  SQLITE_CANTOPEN: {
    what: 'cannot be opened',
    hint: 'the file and its folder must be readable; the folder must be writable too',
  },
  SQLITE_READONLY: {
    what: 'cannot be written',
    hint: 'the file and its folder must be writable by this user',
  },
  SQLITE_BUSY: {
    what: 'is locked by another process',
    hint: 'wait until the other nightsweep is done, or name another database with --db',
  },
  SQLITE_FULL: { what: 'cannot grow: the disk is full', hint: 'free some space and run it again' },
  SQLITE_IOERR: {
    what: 'cannot be read or written: the disk reports an error',
    hint: 'see the kernel log; on a network file system use a local path instead',
  },
  EACCES: { what: 'cannot be created', hint: 'the folder must be writable by this user' },
  ENOENT: { what: 'cannot be created there', hint: 'name another path with --db' },
  EROFS: { what: 'cannot be created: the disk is read-only', hint: 'name another path with --db' },
  ENOTDIR: { what: 'cannot be created: a part of its path is a file', hint: 'check the path' },
  EEXIST: { what: 'cannot be created: a part of its path is a file', hint: 'check the path' },
  ENOSPC: { what: 'cannot be created: the disk is full', hint: 'free some space' },
};

/**
 * The error to throw for a failure of opening `path`: a UserError where the cause is known, else
 * the error itself.
 */
export function explainSqliteError(error: unknown, path: string, readOnly: boolean): unknown {
  if (error instanceof UserError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ERR_DLOPEN_FAILED' || error.message.includes('Could not locate the bindings')) {
    // Each Node major needs its own binary; a copied node_modules brings the wrong one (E15).
    return new UserError(
      `the database library better-sqlite3 does not fit Node.js ${process.version}`,
      {
        hint: 'run `npm rebuild better-sqlite3` with the Node.js that runs nightsweep',
        cause: error,
      },
    );
  }
  // Extended codes such as SQLITE_READONLY_DIRECTORY say the same with more detail.
  const base = code.startsWith('SQLITE_') ? code.split('_').slice(0, 2).join('_') : code;
  const known = EXPLANATIONS[base];
  if (known === undefined) return error;
  const purpose = readOnly ? '' : ' for writing';
  return new UserError(`${path} ${known.what}${base === 'SQLITE_CANTOPEN' ? purpose : ''}`, {
    hint: known.hint,
    cause: error,
  });
}
