import { loadSqlite } from '../../src/storage/load-sqlite.ts';

const Sqlite = loadSqlite();

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

/** Confirming rounds that were planned are below this in studies of `launches: 2`. */
const FIRST_MADE_UP_ROUND = 1001;

/** A machine that jumps less voids no round, however the noise band falls out. */
const LEAST_JUMP_FRACTION = 0.12;

/**
 * Keys of all measurements but those of a confirming round that the sweep had to make up for.
 *
 * Where the machine of the test is so busy that the baseline jumps beyond the noise band between
 * two launches, the sweep voids the round and takes another, as it should. That is left out here
 * only if the baseline did jump, and if the whole round was taken again: every key once.
 */
export function plannedKeys(path: string): readonly string[] {
  const keys = measurementKeys(path);
  const roundOf = (key: string) => Number(key.split('/')[1]);
  const madeUp = keys.filter((key) => roundOf(key) >= FIRST_MADE_UP_ROUND);
  if (madeUp.length === 0) return keys;
  const planned = keys.filter((key) => roundOf(key) < FIRST_MADE_UP_ROUND);
  const again = planned
    .filter((key) => roundOf(key) === FIRST_MADE_UP_ROUND - 1)
    .map((key) => key.replace(`/${FIRST_MADE_UP_ROUND - 1}/`, `/${FIRST_MADE_UP_ROUND}/`));
  return isEqual(madeUp, again) && baselineJumped(path) ? planned : keys;
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.join() === b.join();
}

/** Whether the baseline's first launches differ by more than a quiet machine's do. */
function baselineJumped(path: string): boolean {
  const [jumps] = rows(
    path,
    `SELECT MAX(ABS(LN(b.output_tokens_per_second / a.output_tokens_per_second))) AS most
     FROM measurements AS a JOIN measurements AS b
       ON b.trial_id = a.trial_id AND b.concurrency = a.concurrency AND b.round > a.round
     JOIN trials ON trials.id = a.trial_id WHERE trials.number = 0`,
  );
  return Number(jumps?.['most'] ?? 0) > LEAST_JUMP_FRACTION;
}
