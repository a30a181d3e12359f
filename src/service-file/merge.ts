import type { PlacedEntry } from './service.ts';
import type { UnitText } from './unit-text.ts';

/**
 * Entries of a list setting in force (`ExecStart`, `Environment`, ...), over the unit and its
 * drop-ins in order: an empty assignment forgets all before it.
 */
export function listEntries(files: readonly UnitText[], key: string): PlacedEntry[] {
  let found: PlacedEntry[] = [];
  for (const [file, { entries }] of files.entries()) {
    for (const entry of entries) {
      if (entry.section !== 'Service' || entry.key !== key) continue;
      if (entry.value === '') found = [];
      else found.push({ file, entry });
    }
  }
  return found;
}

/** Entry of a single setting in force: the last one; undefined when it is absent or empty. */
export function lastEntry(files: readonly UnitText[], key: string): PlacedEntry | undefined {
  return listEntries(files, key).at(-1);
}
