import { UserError } from '../errors.ts';
import type { Profile } from './score.ts';

/** How far the weights may miss 1 by rounding; study file and command line allow the same. */
const ROUNDING = 1e-6;

/**
 * Checks a profile against what is measured. A concurrency of weight 0 is only shown.
 *
 * @throws UserError when the weights do not sum to 1, or one lies at a concurrency that no trial
 *   was measured at; the error names those that exist (field report B16).
 */
export function checkProfile(profile: Profile, measured: ReadonlySet<number>): void {
  if (profile.size === 0) {
    throw new UserError('the study has no profile', {
      hint: 'name one, e.g. --profile 1:0.5,4:0.3,16:0.2',
    });
  }
  const sum = [...profile.values()].reduce((total, weight) => total + weight, 0);
  if (!(Math.abs(sum - 1) <= ROUNDING)) {
    throw new UserError(`profile: the weights sum to ${Number(sum.toFixed(6))}, not 1`);
  }
  const missing = [...weighted(profile).keys()].filter((concurrency) => !measured.has(concurrency));
  if (missing.length === 0) return;
  const known = [...measured].sort((a, b) => a - b).join(', ');
  throw new UserError(`profile: nothing is measured at ${missing.join(', ')} in flight`, {
    hint: known === '' ? 'the study has no measurement yet' : `measured concurrencies are ${known}`,
  });
}

/** The part of the profile that has a say. */
export function weighted(profile: Profile): Profile {
  return new Map([...profile].filter(([, weight]) => weight > 0));
}

/** The profile as the command line takes it. */
export function profileText(profile: Profile): string {
  return [...profile]
    .map(([concurrency, weight]) => `${concurrency}:${Number(weight.toFixed(4))}`)
    .join(',');
}

/**
 * The profile with weight `weight` at one concurrency and the others scaled alike to make room.
 * Undefined when no other has weight.
 */
export function withWeight(
  profile: Profile,
  concurrency: number,
  weight: number,
): Profile | undefined {
  const others = [...profile].filter(([other]) => other !== concurrency);
  const rest = others.reduce((total, [, share]) => total + share, 0);
  if (rest === 0) return undefined;
  const scaled = others.map(([other, share]) => [other, (share * (1 - weight)) / rest] as const);
  return new Map([...scaled, [concurrency, weight] as const].sort(([a], [b]) => a - b));
}
