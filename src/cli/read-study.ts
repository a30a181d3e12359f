import { UserError } from '../errors.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { openDatabase } from './open-database.ts';

/** A store opened for reading, and the study asked for. @throws UserError for an unknown name. */
export async function openStoredStudy(
  database: string,
  name: string,
  { write = false }: { readonly write?: boolean } = {},
): Promise<{ readonly store: StudyStore; readonly study: StoredStudy }> {
  const store = await openDatabase(database, { readOnly: !write });
  const study = store.findStudy(name);
  if (study !== undefined) return { store, study };
  const names = store.studies().map((one) => one.name);
  store[Symbol.dispose]();
  const nearest = nearestName(name, names);
  throw new UserError(`${database} has no study named ${name}`, {
    hint:
      names.length === 0
        ? 'the database has no studies yet'
        : `${nearest === undefined ? '' : `did you mean ${nearest}? `}it has: ${names.join(', ')}`,
  });
}
