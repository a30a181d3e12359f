import type { FlagValue } from '../search-space/assignment.ts';
import type { FlagHelp } from './help.ts';

/** Python's `int()` and `float()`: underscores between digits, a sign, blanks around. */
const INTEGER = /^\s*[+-]?\d+(_\d+)*\s*$/;
const NUMBER =
  /^\s*[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$/i;
/** SGLang's `human_readable_int`: decimals with SI suffixes, whole numbers with IEC suffixes. */
const SUFFIXED = /^(\d+(\.\d+)?[kMGT]|\d+[KMGT]i)$/;

/**
 * What is wrong with one value word of a flag, as the end of a sentence (`must be one of ...`);
 * undefined when SGLang's parser accepts it.
 */
export function wordProblem(flag: FlagHelp, word: string): string | undefined {
  if (flag.choices !== undefined) {
    return flag.choices.includes(word) ? undefined : `must be one of ${flag.choices.join(', ')}`;
  }
  switch (flag.type) {
    case 'integer':
      if (INTEGER.test(word) || (flag.acceptsSuffix === true && SUFFIXED.test(word.trim())))
        return undefined;
      return 'must be a whole number';
    case 'number':
      return NUMBER.test(word) ? undefined : 'must be a number';
    case 'json':
      return isJson(word) ? undefined : 'must be JSON';
    case 'boolean':
    case 'string':
      return undefined;
  }
}

/**
 * Words that stand for a value on the command line, without the flag itself; undefined when the
 * flag is absent. `[]` is a bare flag.
 */
export function valueWords(value: FlagValue): string[] | undefined {
  if (value === null || value === false) return undefined;
  if (value === true) return [];
  return typeof value === 'object' ? value.map(String) : [String(value)];
}

/**
 * What is wrong with a parameter's value for this flag, as the end of a sentence; undefined when
 * it is fine. Absent (`null`, `false`) is always fine.
 */
export function valueProblem(flag: FlagHelp, value: FlagValue): string | undefined {
  const words = valueWords(value);
  if (words === undefined) return undefined;
  const counted = countProblem(flag, words.length, value === true);
  return (
    counted ?? words.map((word) => wordProblem(flag, word)).find((found) => found !== undefined)
  );
}

/** What is wrong with the number of values, as the end of a sentence. */
function countProblem(flag: FlagHelp, count: number, bare: boolean): string | undefined {
  switch (flag.takes) {
    case 'nothing':
      return count === 0 ? undefined : 'takes no value: use true (present) or false (absent)';
    case 'one':
      return count === 1 ? undefined : bare ? 'needs a value' : 'takes one value';
    case 'optional':
      return count <= 1 ? undefined : 'takes one value or none';
    case 'many':
      return count >= flag.minimumValues ? undefined : `needs at least ${flag.minimumValues} value`;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
