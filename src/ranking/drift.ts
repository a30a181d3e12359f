import { cholesky, dot, type Matrix, solveLower, solveUpper } from '../metrics/linear-algebra.ts';
import { mean, studentTQuantile } from '../metrics/statistics.ts';
import type { LaunchScore } from './launch-scores.ts';

/**
 * How the machine changed while a study ran, seen by the baseline's launches.
 *
 * A straight line or a random walk under the noise of launches, fitted to the baseline's log scores.
 * The better of them is taken out as soon as it is likelier than "nothing changed" at the price of
 * one parameter (Akaike); it is told of only beyond chance (`isSignificant`).
 */
export interface Drift {
  /** It is taken out of comparisons with the baseline. */
  readonly isModelled: boolean;
  readonly isSignificant: boolean;
  /** Change of the log score at a launch against the baseline's mean; 0 where nothing drifts. */
  readonly offsetAt: (launch: number) => number;
  /** Largest minus smallest of the baseline's smoothed level, as a share. */
  readonly rangeFraction: number;
}

/** Variance of the walk per launch, as a multiple of the noise variance of one launch. */
const WALK_RATIOS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

/** Slope of a straight drift: prior deviation per launch, in noise deviations. Practically free. */
const FREE_SLOPE = 1;

/** Gain in log likelihood that is worth a parameter (Akaike). */
const WORTHWHILE_LOG_LIKELIHOOD = 1;
/** 5 % point of the likelihood ratio of a model with one more parameter, the better of two. */
const SIGNIFICANT_LOG_LIKELIHOOD = 5.02 / 2;

/** Below this nothing can be told from noise. */
const FEWEST_LAUNCHES = 4;

const STEADY: Drift = {
  isModelled: false,
  isSignificant: false,
  offsetAt: () => 0,
  rangeFraction: 0,
};

/** The drift that a study's baseline launches show. */
export function driftOf(baseline: readonly LaunchScore[]): Drift {
  if (baseline.length < FEWEST_LAUNCHES) return STEADY;
  const centre = mean(baseline.map(({ logScore }) => logScore)) ?? 0;
  const values = baseline.map(({ logScore }) => logScore - centre);
  const at = baseline.map(({ launch }) => launch);
  const still = fit(at, values, { walk: 0, slope: 0 });
  const moving = [
    fit(at, values, { walk: 0, slope: FREE_SLOPE }),
    ...WALK_RATIOS.map((walk) => fit(at, values, { walk, slope: 0 })),
  ];
  const best = moving.reduce((a, b) => (b.logLikelihood > a.logLikelihood ? b : a));
  const gain = best.logLikelihood - still.logLikelihood;
  if (gain < WORTHWHILE_LOG_LIKELIHOOD) return STEADY;
  const levels = at.map(best.levelAt);
  const level = mean(levels) ?? 0;
  return {
    isModelled: true,
    isSignificant: gain > SIGNIFICANT_LOG_LIKELIHOOD,
    offsetAt: (launch) => best.levelAt(launch) - level,
    rangeFraction: Math.expm1(Math.max(...levels) - Math.min(...levels)),
  };
}

interface WalkFit {
  readonly logLikelihood: number;
  readonly levelAt: (launch: number) => number;
}

/** Both in noise variances: of the walk per launch, of the slope per launch squared. */
interface Movement {
  readonly walk: number;
  readonly slope: number;
}

/** Where the level starts is free: its prior variance, in noise variances. */
const START_RATIO = 1e4;

/** Fits level and noise with the scale profiled out: covariance `I + start + movement`. */
function fit(at: readonly number[], values: readonly number[], { walk, slope }: Movement): WalkFit {
  const origin = at[0] ?? 0;
  const shared = (a: number, b: number) =>
    START_RATIO +
    walk * Math.max(0, Math.min(a, b) - origin) +
    slope ** 2 * (a - origin) * (b - origin);
  const covariance: Matrix = at.map((a, i) =>
    Float64Array.from(at, (b, j) => shared(a, b) + (i === j ? 1 : 0)),
  );
  const lower = cholesky(covariance);
  if (lower === undefined) throw new Error('a covariance with a ridge has a Cholesky factor');
  const half = solveLower(lower, values);
  const scale = dot(half, half) / Math.max(1, values.length - 1);
  const weights = solveUpper(lower, half);
  let logDeterminant = 0;
  for (const [i, row] of lower.entries()) logDeterminant += 2 * Math.log(row[i] ?? 1);
  return {
    logLikelihood: -0.5 * ((values.length - 1) * Math.log(scale + 1e-300) + logDeterminant),
    levelAt: (launch) => {
      let level = 0;
      for (const [i, a] of at.entries()) level += (weights[i] ?? 0) * shared(a, launch);
      return level;
    },
  };
}

/** A change between two neighbouring launches of the baseline that noise does not explain. */
export interface Jump {
  readonly before: LaunchScore;
  readonly after: LaunchScore;
  /** As a share: -0.1 is a tenth slower after. */
  readonly changeFraction: number;
}

/** A jump by chance, per pair of neighbouring launches. */
const JUMP_RISK = 0.003;

/**
 * What is known of the noise before anything is measured: launches differ by 1.5 % commonly (up to
 * 6 %, field report C20); weighs as much as four launches of the study itself.
 */
export const PRIOR_NOISE = { variance: 0.02 ** 2, degreesOfFreedom: 4 } as const;

/**
 * Pairs of neighbouring baseline launches that differ by more than the noise band: t test at
 * 0.3 % against the other neighbouring differences (each counts 2/3 of a degree, as neighbours
 * share a launch) and against `known`, what is known of the noise from elsewhere.
 */
export function jumpsOf(
  baseline: readonly LaunchScore[],
  known: { readonly variance: number; readonly degreesOfFreedom: number },
): readonly Jump[] {
  const steps = baseline.slice(1).flatMap((after, i) => {
    const before = baseline[i];
    return before === undefined ? [] : { before, after, step: after.logScore - before.logScore };
  });
  const squares = steps.reduce((total, { step }) => total + step ** 2 / 2, 0);
  return steps.flatMap(({ before, after, step }) => {
    const others = (2 / 3) * (steps.length - 1);
    const degrees = others + known.degreesOfFreedom;
    const fromOthers = (squares - step ** 2 / 2) * (2 / 3);
    const variance = (fromOthers + known.variance * known.degreesOfFreedom) / degrees;
    const band = studentTQuantile(1 - JUMP_RISK / 2, degrees) * Math.sqrt(2 * variance);
    return Math.abs(step) > band ? { before, after, changeFraction: Math.expm1(step) } : [];
  });
}

/** Whether a launch lies between the two launches of a jump: what it shows belongs to neither level. */
export function isInside(launch: number, jumps: readonly Jump[]): boolean {
  return jumps.some(({ before, after }) => launch > before.launch && launch < after.launch);
}

/**
 * Which stretch between jumps a launch belongs to, 0 for the first; undefined inside a jump, where
 * it belongs to neither.
 */
export function eraOf(launch: number, jumps: readonly Jump[]): number | undefined {
  if (isInside(launch, jumps)) return undefined;
  return jumps.filter(({ after }) => after.launch <= launch).length;
}
