import { mean, studentTQuantile } from '../metrics/statistics.ts';
import { type Confirmation, confirmationOf, type LaunchedTrial } from './confirmation.ts';
import { type Drift, driftOf, isInside, type Jump, jumpsOf, PRIOR_NOISE } from './drift.ts';
import { type LaunchScore, launchScores } from './launch-scores.ts';
import {
  type Estimate,
  type Evidence,
  halfWidth,
  noiseOf,
  ofDifference,
  tieWidth,
  unknownTieWidth,
} from './noise.ts';
import { isConfirmingRound } from './phases.ts';
import type { Profile, ScoreKind } from './score.ts';
import type { Cell } from './speeds.ts';

/** A trial that is ranked, or the baseline. */
export interface EstimatedTrial {
  readonly trial: number;
  readonly isBaseline: boolean;
  readonly cells: ReadonlyMap<number, Cell>;
}

/** What is known of every trial's log score and of the difference of any two. */
export interface Estimates {
  readonly evidence: Evidence;
  readonly confirmation: Confirmation | undefined;
  readonly drift: Drift;
  readonly of: (trial: EstimatedTrial) => Estimate | undefined;
  /** Half width of the interval of `a - b`; undefined without a standard error. */
  readonly halfWidthOfDifference: (
    a: Estimate,
    b: Estimate,
    confidence: number,
  ) => number | undefined;
  /** Smallest difference of `a` and `b` that is not a tie. */
  readonly tieWidth: (a: Estimate, b: Estimate) => number;
  /** Of that, what is owed to launches whose noise is not known, as a share; 0 where it is. */
  readonly unknownTieFraction: number;
}

/**
 * Estimates for one kind of score.
 *
 * With confirming launches, finalists and baseline are compared by those alone (confirmation.ts):
 * the launches that chose a finalist flatter it. What was launched in the search only is set
 * against the baseline's level at its time (drift.ts), at the noise of one launch. Without
 * confirming launches everything there is counts (noise.ts), ties at Bonferroni's level over all
 * candidates.
 *
 * @param trials what may win, and the baseline.
 */
export function estimatesOf(
  kind: ScoreKind,
  profile: Profile,
  trials: readonly EstimatedTrial[],
  confidence: number,
): Estimates {
  const noise = noiseOf(
    kind,
    profile,
    trials.map(({ cells }) => cells),
  );
  const candidates = Math.max(1, trials.filter(({ isBaseline }) => !isBaseline).length);
  const tieConfidence = 1 - (1 - confidence) / candidates;
  const confirmation = confirmationOf(confirmable(kind, profile, trials), confidence);
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  const reference = baseline === undefined ? [] : launchScores(kind, profile, baseline.cells);
  const drift = driftOf(reference);
  const jumps = jumpsOf(reference, confirmation ?? PRIOR_NOISE);
  const search = (cells: ReadonlyMap<number, Cell>) =>
    // Nothing to correct: the launches of thousands of trials need not be gone through.
    confirmation === undefined && !drift.isModelled && jumps.length === 0
      ? undefined
      : meanAgainstDrift(launchScores(kind, profile, cells), drift, jumps);
  const base = baseline && noise.estimate(baseline.cells);
  if (confirmation === undefined || base === undefined) {
    return {
      evidence: noise.evidence,
      confirmation: undefined,
      drift,
      of: ({ cells, isBaseline }) => {
        const estimate = noise.estimate(cells);
        const against = isBaseline ? undefined : search(cells);
        if (estimate === undefined || against === undefined) return estimate;
        return { ...estimate, logScore: estimate.logScore - against.correction };
      },
      halfWidthOfDifference: (a, b, level) => halfWidth(ofDifference(a, b, noise.evidence), level),
      tieWidth: (a, b) => tieWidth(a, b, noise.evidence, tieConfidence),
      unknownTieFraction:
        noise.evidence === 'between-launches' ? 0 : Math.expm1(unknownTieWidth(tieConfidence)),
    };
  }
  const { variance, degreesOfFreedom, gains, critical } = confirmation;
  const tieQuantile = studentTQuantile(1 - (1 - tieConfidence) / 2, degreesOfFreedom);
  const half = (a: Estimate, b: Estimate, other: number): number => {
    const [x = 0, y = 0] = [a.standardError, b.standardError];
    if (a.confirmedRounds === undefined || b.confirmedRounds === undefined) {
      return other * Math.hypot(x, y);
    }
    // Both are compared in the rounds they share.
    return critical * Math.SQRT2 * Math.max(x, y);
  };
  return {
    evidence: 'between-launches',
    confirmation,
    drift,
    of: ({ trial, cells, isBaseline }) => {
      const gain = gains.get(trial);
      const rounds = isBaseline ? confirmation.rounds : (gain?.rounds ?? 0);
      if (rounds > 0) {
        return {
          logScore: base.logScore + (gain?.logGain ?? 0),
          standardError: Math.sqrt(variance / rounds),
          degreesOfFreedom,
          isReplicated: true,
          confirmedRounds: rounds,
        };
      }
      const own = noise.estimate(cells);
      if (own === undefined) return undefined;
      const { correction, launches } = search(cells) ?? { correction: 0, launches: 1 };
      return {
        logScore: own.logScore - correction,
        standardError: Math.sqrt(variance / launches),
        degreesOfFreedom,
        isReplicated: own.isReplicated,
      };
    },
    halfWidthOfDifference: (a, b, level) =>
      half(a, b, studentTQuantile(1 - (1 - level) / 2, degreesOfFreedom)),
    tieWidth: (a, b) => half(a, b, tieQuantile),
    unknownTieFraction: 0,
  };
}

/**
 * What to take from a trial's log score so that it stands against the baseline at its own time:
 * the drift at its launches, and the launches that lie inside a jump where there are others.
 */
function meanAgainstDrift(
  launches: readonly LaunchScore[],
  drift: Drift,
  jumps: readonly Jump[],
): { readonly correction: number; readonly launches: number } {
  const outside = launches.filter(({ launch }) => !isInside(launch, jumps));
  const used = outside.length > 0 ? outside : launches;
  if (used.length === 0) return { correction: 0, launches: 1 };
  const meanOf = (values: readonly number[]) => mean(values) ?? 0;
  const all = meanOf(launches.map(({ logScore }) => logScore));
  const against = meanOf(used.map(({ launch, logScore }) => logScore - drift.offsetAt(launch)));
  return { correction: all - against, launches: used.length };
}

function confirmable(
  kind: ScoreKind,
  profile: Profile,
  trials: readonly EstimatedTrial[],
): readonly LaunchedTrial[] {
  // Launches of thousands of trials that were searched only are not worth their scores.
  const isConfirmed = ({ cells }: EstimatedTrial) =>
    [...cells.values()].some(({ latestRound }) => isConfirmingRound(latestRound));
  return trials
    .filter((one) => one.isBaseline || isConfirmed(one))
    .map(({ trial, isBaseline, cells }) => {
      return { trial, isBaseline, launches: launchScores(kind, profile, cells) };
    });
}
