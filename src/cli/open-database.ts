import type { OpenOptions } from '../storage/open-store.ts';
import type { StudyStore } from '../storage/study-store.ts';

/**
 * Opens a database. SQLite is loaded here, so that commands without a database start without it.
 *
 * A function of its own because TypeScript 6.0 does not rewrite the extension of an `import()`
 * inside a function that it down-levels for `using`.
 */
export async function openDatabase(path: string, options: OpenOptions = {}): Promise<StudyStore> {
  const { openStore } = await import('../storage/open-store.ts');
  return openStore(path, options);
}
