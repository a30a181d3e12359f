import type { FlagValue } from '../search-space/assignment.ts';
import type { FlagOccurrence, LaunchArgs } from './launch-args.ts';

/**
 * The flags of a launch command by canonical name, as the server counts them: of a repeated flag
 * the last one. Words that look like numbers are numbers; flags that are absent are left out.
 */
export function launchFlags({ flags }: LaunchArgs): Readonly<Record<string, FlagValue>> {
  return Object.fromEntries(flags.map((flag) => [flag.name, occurrenceValue(flag)]));
}

/** What one occurrence of a flag says. */
export function occurrenceValue({ flag, values, negated }: FlagOccurrence): FlagValue {
  if (flag?.takes === 'nothing' || values.length === 0) return !negated;
  const read = values.map(numberOrText);
  return flag?.takes === 'many' ? read : (read[0] ?? true);
}

function numberOrText(word: string): string | number {
  const value = Number(word);
  return word.trim() !== '' && Number.isFinite(value) ? value : word;
}
