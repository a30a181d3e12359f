import Sqlite from 'better-sqlite3';

/** What SQLite itself says of a database: `ok`, or what is wrong. */
export function integrity(path: string): string {
  const database = new Sqlite(path, { readonly: true });
  try {
    return String(database.pragma('integrity_check', { simple: true }));
  } finally {
    database.close();
  }
}

/** Rows of a query. */
export function rows(path: string, sql: string): readonly Record<string, unknown>[] {
  const database = new Sqlite(path, { readonly: true });
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}

/** Keys of all measurements, in order: `trial/round/concurrency/repeat`, trials by their number. */
export function measurementKeys(path: string): readonly string[] {
  const found = rows(
    path,
    `SELECT number, round, concurrency, repeat FROM measurements
     JOIN trials ON trials.id = trial_id ORDER BY 1, 2, 3, 4`,
  );
  return found.map((row) => Object.values(row).map(String).join('/'));
}
