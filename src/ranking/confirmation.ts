import { dunnettCritical } from '../metrics/dunnett.ts';
import { mean } from '../metrics/statistics.ts';
import { isInside, type Jump, jumpsOf, PRIOR_NOISE } from './drift.ts';
import type { LaunchScore } from './launch-scores.ts';
import { isConfirmingRound } from './phases.ts';

/** A trial's launches, as the confirmation sees them. */
export interface LaunchedTrial {
  readonly trial: number;
  readonly isBaseline: boolean;
  readonly launches: readonly LaunchScore[];
}

/** What the confirming launches say of one finalist. */
export interface ConfirmedGain {
  /** Mean log ratio to the baseline over `rounds`; no launch in it selected the finalist. */
  readonly logGain: number;
  /** Rounds in which finalist and baseline were both launched and nothing jumped. */
  readonly rounds: number;
}

export interface Confirmation {
  readonly gains: ReadonlyMap<number, ConfirmedGain>;
  /** Rounds of the baseline that count. */
  readonly rounds: number;
  /** Rounds in which the baseline jumped beyond the noise band: they do not count. */
  readonly voidRounds: readonly number[];
  /** Variance of a launch's log score, what its round does to all of them taken out. */
  readonly variance: number;
  readonly degreesOfFreedom: number;
  /** Half width of the simultaneous intervals in standard errors (Dunnett). */
  readonly critical: number;
}

/** Fewer degrees than this are filled up with the launches of the search. */
const FEW_DEGREES = 4;

/**
 * Compares finalists with the baseline by their confirming launches alone.
 *
 * A round is a block: `y = trial + round + error`, so that whatever moves all launches of a round
 * alike (drift) cancels, each finalist being paired with the baseline launched beside it. The
 * error variance is what is left after both effects, `(trials - 1)(rounds - 1)` degrees when all is
 * complete. The intervals of all finalists hold together at `confidence` (Dunnett). As the launches
 * that chose the finalists take no part, their luck does not either.
 *
 * Undefined without a confirming round of the baseline and a finalist.
 * @see https://www.itl.nist.gov/div898/handbook/pri/section3/pri332.htm (randomized blocks)
 */
export function confirmationOf(
  trials: readonly LaunchedTrial[],
  confidence: number,
): Confirmation | undefined {
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  if (baseline === undefined) return undefined;
  const reference = confirming(baseline);
  const finalists = trials
    .filter((one) => one !== baseline)
    .map(({ trial, launches }) => ({ trial, launches, byRound: confirming({ launches }) }))
    .filter(({ byRound }) => [...byRound.keys()].some((round) => reference.has(round)));
  if (finalists.length === 0) return undefined;

  const arms = [reference, ...finalists.map(({ byRound }) => byRound)];
  const raw = residualVariance(arms, reference);
  const jumps = jumpsOf(baseline.launches, raw.degreesOfFreedom < FEW_DEGREES ? PRIOR_NOISE : raw);
  const voidRounds = roundsInside(jumps, finalists);
  for (const round of voidRounds) for (const arm of arms) arm.delete(round);
  const clean = voidRounds.length === 0 ? raw : residualVariance(arms, reference);
  const noise = filledUp(clean, [baseline, ...finalists], baseline);
  if (noise.degreesOfFreedom === 0) return undefined;
  return {
    gains: new Map(
      finalists.map(({ trial, byRound }) => [trial, gainOf(byRound, reference)] as const),
    ),
    rounds: reference.size,
    voidRounds,
    ...noise,
    critical: dunnettCritical(finalists.length, noise.degreesOfFreedom, confidence),
  };
}

/** Rounds in which a finalist was launched between the two baseline launches of a jump. */
function roundsInside(
  jumps: readonly Jump[],
  finalists: readonly Pick<LaunchedTrial, 'launches'>[],
): readonly number[] {
  const launches = finalists.flatMap((finalist) => finalist.launches);
  const inside = launches.filter(({ launch, round }) => {
    return isConfirmingRound(round) && isInside(launch, jumps);
  });
  return [...new Set(inside.map(({ round }) => round))];
}

/** Confirming log scores by round. */
function confirming({ launches }: Pick<LaunchedTrial, 'launches'>): Map<number, number> {
  return new Map(
    launches
      .filter(({ round }) => isConfirmingRound(round))
      .map(({ round, logScore }) => [round, logScore]),
  );
}

function gainOf(
  byRound: ReadonlyMap<number, number>,
  reference: ReadonlyMap<number, number>,
): ConfirmedGain {
  const ratios = [...byRound].flatMap(([round, log]) => {
    const beside = reference.get(round);
    return beside === undefined ? [] : log - beside;
  });
  return { logGain: mean(ratios) ?? Number.NaN, rounds: ratios.length };
}

interface PooledNoise {
  readonly variance: number;
  readonly degreesOfFreedom: number;
}

/** Two-way fit by alternating means (dropped finalists leave the table incomplete). */
function residualVariance(
  arms: readonly ReadonlyMap<number, number>[],
  reference: ReadonlyMap<number, number>,
): PooledNoise {
  const rounds = [...reference.keys()].filter((round) =>
    arms.some((arm) => arm !== reference && arm.has(round)),
  );
  const byArm = arms.map((arm) => mean(rounds.flatMap((round) => arm.get(round) ?? [])) ?? 0);
  const byRound = new Map(rounds.map((round) => [round, 0]));
  for (let pass = 0; pass < 30; pass += 1) {
    for (const round of rounds) {
      const rest = arms.flatMap((arm, i) => less(arm.get(round), byArm[i] ?? 0));
      byRound.set(round, mean(rest) ?? 0);
    }
    for (const [i, arm] of arms.entries()) {
      byArm[i] = mean(rounds.flatMap((r) => less(arm.get(r), byRound.get(r) ?? 0))) ?? 0;
    }
  }
  let squares = 0;
  let values = 0;
  for (const [i, arm] of arms.entries()) {
    for (const round of rounds) {
      const log = arm.get(round);
      if (log === undefined) continue;
      squares += (log - (byArm[i] ?? 0) - (byRound.get(round) ?? 0)) ** 2;
      values += 1;
    }
  }
  const present = arms.filter((arm) => rounds.some((round) => arm.has(round))).length;
  const degreesOfFreedom = Math.max(0, values - present - rounds.length + 1);
  return { variance: degreesOfFreedom === 0 ? 0 : squares / degreesOfFreedom, degreesOfFreedom };
}

function less(value: number | undefined, by: number): number[] {
  return value === undefined ? [] : [value - by];
}

/**
 * With a round or two the launches of the search help to know the noise: the baseline's steps from
 * one launch to the next, which drift hardly touches, then each finalist's first launch against
 * its later ones (it was chosen for being fast, so that errs to the careful side).
 */
function filledUp(
  noise: PooledNoise,
  trials: readonly Pick<LaunchedTrial, 'launches'>[],
  baseline: LaunchedTrial,
): PooledNoise {
  if (noise.degreesOfFreedom >= FEW_DEGREES) return noise;
  let squares = noise.variance * noise.degreesOfFreedom;
  let degreesOfFreedom = noise.degreesOfFreedom;
  for (const one of trials) {
    const logs = one.launches.map(({ logScore }) => logScore);
    if (logs.length < 2) continue;
    if (one === baseline) {
      const steps = logs.slice(1).map((log, i) => (log - (logs[i] ?? log)) ** 2 / 2);
      // Neighbouring steps share a launch: each counts 2/3, a single one in full.
      const weight = steps.length === 1 ? 1 : 2 / 3;
      squares += weight * steps.reduce((total, step) => total + step, 0);
      degreesOfFreedom += weight * steps.length;
    } else {
      const centre = mean(logs) ?? 0;
      squares += logs.reduce((total, log) => total + (log - centre) ** 2, 0);
      degreesOfFreedom += logs.length - 1;
    }
  }
  if (degreesOfFreedom === 0) return noise;
  return { variance: squares / degreesOfFreedom, degreesOfFreedom };
}
