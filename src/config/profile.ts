import { UserError } from '../errors.ts';
import { show } from './problems.ts';

/** Rounding of shares that are written with a few digits, such as thirds. */
const SUM_TOLERANCE = 1e-6;

export interface ProfileProblem {
  /** The concurrency as written; absent where the whole profile is meant. */
  readonly key?: string;
  readonly message: string;
  readonly hint?: string;
}

export type ProfileResult =
  | { readonly profile: ReadonlyMap<number, number> }
  | { readonly problems: readonly ProfileProblem[] };

/**
 * The profile of written concurrencies and shares, ascending by concurrency. A share of 0 is
 * allowed: that concurrency is measured and shown, and has no say. Shares must sum to 1 within
 * 1e-6; percentages are refused rather than guessed at.
 */
export function readProfile(written: Readonly<Record<string, number>>): ProfileResult {
  const entries = Object.entries(written);
  const problems: ProfileProblem[] = [];
  if (entries.length === 0) {
    problems.push({ message: 'names no concurrency', hint: 'e.g. {1: 0.5, 4: 0.5}' });
  }
  for (const [key, share] of entries) {
    if (!isConcurrency(key)) {
      problems.push({
        key,
        message: `the number of requests in flight must be a positive whole number, got ${show(key)}`,
      });
    }
    if (!Number.isFinite(share) || share < 0) {
      problems.push({ key, message: `a share must be 0 or more, got ${String(share)}` });
    }
  }
  if (problems.length > 0) return { problems };

  const sum = entries.reduce((total, [, share]) => total + share, 0);
  if (Math.abs(sum - 1) > SUM_TOLERANCE) return { problems: [sumProblem(entries, sum)] };
  const ascending = entries
    .map(([key, share]) => [Number(key), share] as const)
    .sort(([a], [b]) => a - b);
  return { profile: new Map(ascending) };
}

/** `1`, `16`; not `01`, `1.5`, `1e3`. */
export function isConcurrency(key: string): boolean {
  return /^[1-9]\d{0,5}$/.test(key);
}

/** The profile of `1:0.5,4:0.5`, as the command line writes it. */
export function parseProfile(text: string): ReadonlyMap<number, number> {
  const written: Record<string, number> = {};
  for (const part of text.split(',')) {
    const match = /^\s*([^:\s]+)\s*:\s*([\d.eE+-]+)\s*$/.exec(part);
    const [, key, share] = match ?? [];
    if (key === undefined || !Number.isFinite(Number(share))) {
      throw new UserError(`profile ${show(text)}: ${show(part.trim())} is not concurrency:share`, {
        hint: 'write it as 1:0.5,4:0.3,16:0.2',
      });
    }
    if (key in written) throw new UserError(`profile ${show(text)}: ${key} stands in it twice`);
    written[key] = Number(share);
  }
  const result = readProfile(written);
  if ('profile' in result) return result.profile;
  const [first] = result.problems;
  throw new UserError(`profile ${show(text)}: ${first?.message ?? 'is not valid'}`, {
    hint: first?.hint,
  });
}

function sumProblem(entries: readonly (readonly [string, number])[], sum: number): ProfileProblem {
  const message = `the shares sum to ${trim(sum)}, not 1`;
  if (sum <= 0) return { message, hint: 'give at least one concurrency a share' };
  const scaled = entries.map(([key, share]) => `${key}: ${trim(share / sum)}`).join(', ');
  return Math.abs(sum - 100) < 1
    ? { message, hint: `write fractions, not percentages: {${scaled}}` }
    : { message, hint: `scaled to 1 they would be {${scaled}}` };
}

function trim(value: number): string {
  return String(Number(value.toPrecision(6)));
}
