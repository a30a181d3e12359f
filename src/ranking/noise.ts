import { normalQuantile } from '../metrics/normal.ts';
import { mean, studentTQuantile } from '../metrics/statistics.ts';
import { launchScores } from './launch-scores.ts';
import { logScore, type Profile, type ScoreKind, type Speeds, sensitivity } from './score.ts';
import type { Cell } from './speeds.ts';

/**
 * What intervals rest on. `between-launches`: several launches of one trial; the honest one, as
 * one launch differs from the next. `within-launch`: repeats within single launches only, which
 * leave that difference out. `unreplicated`: single measurements, no interval.
 */
export type Evidence = 'between-launches' | 'within-launch' | 'unreplicated';

/**
 * What one launch is taken to differ from the next by (standard deviation) where a study does not
 * show it: launches of one configuration commonly differ by 1.5 to 6 % (field report C20).
 */
export const UNKNOWN_LAUNCH_NOISE_FRACTION = 0.02;

/** A log score with its standard error; `standardError` undefined where nothing is repeated. */
export interface Estimate {
  readonly logScore: number;
  readonly standardError: number | undefined;
  readonly degreesOfFreedom: number;
  /** The trial's own measurements are repeated, so that it gets an interval of its own. */
  readonly isReplicated: boolean;
  /** Confirming rounds it rests on, the noise of a round taken out; absent: not confirmed. */
  readonly confirmedRounds?: number;
}

/** How a study's noise was estimated, for one kind of score. */
export interface Noise {
  readonly evidence: Evidence;
  estimate(cells: ReadonlyMap<number, Cell>): Estimate | undefined;
}

/**
 * The noise of log scores, pooled over the trials (one standard deviation for all of them, as
 * noise is a share of the throughput).
 *
 * Between launches: each launch that covers the profile gives one log score; the pooled variance
 * is `sum (x - trial mean)^2 / sum (launches - 1)`, a trial's variance that divided by its number
 * of launches. Within a launch: the variance of `ln T` at each concurrency from repeats, pooled
 * alike, combined with the score's sensitivities; degrees of freedom after Welch-Satterthwaite.
 * @see https://www.itl.nist.gov/div898/handbook/prc/section4/prc43.htm (pooled within-group variance)
 */
export function noiseOf(
  kind: ScoreKind,
  profile: Profile,
  trials: Iterable<ReadonlyMap<number, Cell>>,
): Noise {
  const all = [...trials];
  const between = pool(
    all.map((cells) => launchScores(kind, profile, cells).map(({ logScore: log }) => log)),
  );
  if (between !== undefined) return betweenLaunches(kind, profile, between);
  const within = new Map<number, Pooled>();
  for (const concurrency of profile.keys()) {
    const groups = all.flatMap((cells) => [
      ...(cells.get(concurrency)?.logsByLaunch.values() ?? []),
    ]);
    const pooled = pool(groups);
    if (pooled !== undefined) within.set(concurrency, pooled);
  }
  return withinLaunch(kind, profile, within);
}

interface Pooled {
  readonly variance: number;
  readonly degreesOfFreedom: number;
}

/** Pooled variance of groups; undefined when no group has two values. */
function pool(groups: readonly (readonly number[])[]): Pooled | undefined {
  let squares = 0;
  let degreesOfFreedom = 0;
  for (const group of groups) {
    const centre = mean(group);
    if (centre === undefined) continue;
    for (const value of group) squares += (value - centre) ** 2;
    degreesOfFreedom += group.length - 1;
  }
  if (degreesOfFreedom === 0) return undefined;
  return { variance: squares / degreesOfFreedom, degreesOfFreedom };
}

function betweenLaunches(kind: ScoreKind, profile: Profile, pooled: Pooled): Noise {
  return {
    evidence: 'between-launches',
    estimate: (cells) => {
      const score = logScore(kind, profile, speedsOf(cells));
      if (score === undefined) return undefined;
      // A trial pieced together from interrupted launches counts as its least measured cell.
      const launches = Math.min(
        ...[...profile.keys()].map((c) => cells.get(c)?.logsByLaunch.size ?? 0),
      );
      return {
        logScore: score,
        standardError: Math.sqrt(pooled.variance / launches),
        degreesOfFreedom: pooled.degreesOfFreedom,
        isReplicated: launches > 1,
      };
    },
  };
}

function withinLaunch(
  kind: ScoreKind,
  profile: Profile,
  within: ReadonlyMap<number, Pooled>,
): Noise {
  const isComplete = [...profile.keys()].every((concurrency) => within.has(concurrency));
  return {
    evidence: isComplete ? 'within-launch' : 'unreplicated',
    estimate: (cells) => {
      const speeds = speedsOf(cells);
      const score = logScore(kind, profile, speeds);
      if (score === undefined) return undefined;
      const parts = [...sensitivity(kind, profile, speeds)].map(([concurrency, weight]) => {
        const { variance, degreesOfFreedom } = within.get(concurrency) ?? UNKNOWN;
        const part = (weight ** 2 * variance) / (cells.get(concurrency)?.n ?? 1);
        return { part, satterthwaite: part ** 2 / degreesOfFreedom };
      });
      const variance = parts.reduce((sum, { part }) => sum + part, 0);
      const denominator = parts.reduce((sum, { satterthwaite }) => sum + satterthwaite, 0);
      return {
        logScore: score,
        standardError: isComplete ? Math.sqrt(variance) : undefined,
        degreesOfFreedom: denominator > 0 ? variance ** 2 / denominator : 1,
        isReplicated: isComplete && [...profile.keys()].every((c) => (cells.get(c)?.n ?? 0) > 1),
      };
    },
  };
}

const UNKNOWN: Pooled = { variance: 0, degreesOfFreedom: 1 };

/** The point speeds of a trial's cells. */
export function speedsOf(cells: ReadonlyMap<number, Cell>): Speeds {
  return new Map([...cells].map(([c, cell]) => [c, cell.outputTokensPerSecond]));
}

/** Half width of the two-sided t interval of one estimate; undefined without a standard error. */
export function halfWidth(
  { standardError, degreesOfFreedom }: Pick<Estimate, 'standardError' | 'degreesOfFreedom'>,
  confidence: number,
): number | undefined {
  if (standardError === undefined) return undefined;
  return quantile(1 - (1 - confidence) / 2, degreesOfFreedom) * standardError;
}

let lastQuantile = { probability: 0.5, degreesOfFreedom: 1, t: 0 };

/** Remembers the last: every pair of a ranking asks for the same one, and each costs a search. */
function quantile(probability: number, degreesOfFreedom: number): number {
  const last = lastQuantile;
  if (last.probability === probability && last.degreesOfFreedom === degreesOfFreedom) return last.t;
  const t = studentTQuantile(probability, degreesOfFreedom);
  lastQuantile = { probability, degreesOfFreedom, t };
  return t;
}

/** Standard error and degrees of freedom of the difference of two independent estimates. */
export function ofDifference(
  a: Estimate,
  b: Estimate,
  evidence: Evidence,
): Pick<Estimate, 'standardError' | 'degreesOfFreedom'> {
  if (a.standardError === undefined || b.standardError === undefined) {
    return { standardError: undefined, degreesOfFreedom: 1 };
  }
  const variance = a.standardError ** 2 + b.standardError ** 2;
  // Between launches both rest on the one pooled variance, whose degrees of freedom stay.
  const degreesOfFreedom =
    evidence === 'between-launches'
      ? a.degreesOfFreedom
      : Math.max(1, Math.min(a.degreesOfFreedom, b.degreesOfFreedom));
  return { standardError: Math.sqrt(variance), degreesOfFreedom };
}

/** Smallest difference of two single launches that is not a tie where their noise is not known. */
export function unknownTieWidth(confidence: number): number {
  const sigmas = normalQuantile(1 - (1 - confidence) / 2);
  return sigmas * Math.SQRT2 * UNKNOWN_LAUNCH_NOISE_FRACTION;
}

/** Smallest difference of two log scores that is not a tie. */
export function tieWidth(a: Estimate, b: Estimate, evidence: Evidence, confidence: number): number {
  const measured = halfWidth(ofDifference(a, b, evidence), confidence) ?? 0;
  if (evidence === 'between-launches') return measured;
  return Math.max(measured, unknownTieWidth(confidence));
}
