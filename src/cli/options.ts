import { InvalidArgumentError } from 'commander';
import { UserError } from '../errors.ts';

/** Where measurements are kept unless `--db` says otherwise. */
export const DEFAULT_DATABASE = 'results/nightsweep.sqlite';

/** Parses `1,4,16` or `1 4 16` into ascending concurrencies without repeats. @throws UserError for anything else. */
export function parseConcurrencies(text: string): readonly number[] {
  const values = text.split(/[\s,]+/).filter((word) => word !== '');
  const numbers = values.map(Number);
  const wrong = values.find((_, i) => !Number.isInteger(numbers[i]) || (numbers[i] ?? 0) < 1);
  if (wrong !== undefined || numbers.length === 0) {
    throw new UserError(
      `expected whole numbers of requests in flight such as 1,4,16; got "${wrong ?? text}"`,
    );
  }
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Parses a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isInteger(value) || value < least) {
      throw new InvalidArgumentError(
        `expected a whole number of at least ${String(least)}; got "${text}"`,
      );
    }
    return value;
  };
}

/** Parses one of the choices; otherwise an error that lists them. They are those of completion too. */
export function oneOf<const T extends string>(
  choices: readonly T[],
): ((text: string) => T) & { readonly choices: readonly T[] } {
  const parse = (text: string) => {
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected one of ${choices.join(', ')}; got "${text}"`);
  };
  return Object.assign(parse, { choices });
}
