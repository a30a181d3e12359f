import { InvalidArgumentError } from 'commander';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';

/** Where measurements are kept unless `--db` says otherwise. */
export const DEFAULT_DATABASE = 'results/nightsweep.sqlite';

/** Parses `1,4,16` or `1 4 16` into ascending concurrencies without repeats. */
export function parseConcurrencies(text: string): readonly number[] {
  const values = text.split(/[\s,]+/).filter((word) => word !== '');
  const numbers = values.map(Number);
  const wrong = values.find((_, i) => !Number.isInteger(numbers[i]) || (numbers[i] ?? 0) < 1);
  if (wrong !== undefined || numbers.length === 0) {
    throw new InvalidArgumentError(
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

/** The choices' own text when it is one of them; otherwise an error that lists them. */
export function oneOf<const T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) {
      throw new InvalidArgumentError(`expected one of ${choices.join(', ')}; got "${text}"`);
    }
    return found;
  };
}

/**
 * Parses `flag=value,flag=value` into an assignment.
 *
 * `~` or nothing is an absent flag, `true`/`false` a boolean, `[1,2]` a flag with several values,
 * numbers are numbers. Commas inside brackets, braces or double quotes belong to the value.
 */
export function parseAssignment(text: string): Assignment {
  const entries = splitOutsideBrackets(text).map((part) => {
    const at = part.indexOf('=');
    const name = (at < 0 ? part : part.slice(0, at)).trim().replace(/^--/, '');
    if (at < 1 || name === '') {
      throw new InvalidArgumentError(
        `expected flag=value,flag=value (such as max-running-requests=48); got "${part}"`,
      );
    }
    const normalised = name.startsWith('env.') ? name : name.replaceAll('_', '-');
    return [normalised, parseValue(part.slice(at + 1).trim())] as const;
  });
  return Object.fromEntries(entries);
}

function parseValue(text: string): FlagValue {
  if (text === '' || text === '~' || text === 'null') return null;
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text.startsWith('[') && text.endsWith(']')) {
    return splitOutsideBrackets(text.slice(1, -1)).map((word) => {
      const value = parseValue(word.trim());
      return typeof value === 'number' ? value : word.trim();
    });
  }
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text ? number : text;
}

function splitOutsideBrackets(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let quoted = false;
  let part = '';
  for (const char of text) {
    if (char === '"') quoted = !quoted;
    if (!quoted && '[{'.includes(char)) depth += 1;
    if (!quoted && ']}'.includes(char)) depth -= 1;
    if (char === ',' && depth === 0 && !quoted) {
      parts.push(part);
      part = '';
    } else {
      part += char;
    }
  }
  return [...parts, part].filter((word) => word.trim() !== '');
}
