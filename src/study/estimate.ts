import type { Study } from '../config/study.ts';
import { ASSUMED_LAUNCH_NOISE_FRACTION, resolvableGainFraction } from '../ranking/power.ts';
import { BASELINE_EVERY } from './baseline-rounds.ts';
import { msUntil } from './budget.ts';
import { affordableFinalists, confirmingLaunches } from './finalists.ts';
import { pauseSeconds, pointRequests } from './point-workload.ts';

/** Start of a large model with cold caches, where nothing was measured yet. */
const ASSUMED_START_SECONDS = 180;
const ASSUMED_STOP_SECONDS = 15;

/**
 * Output tokens per second of one request alone, and how the total grows with concurrency, where
 * nothing was measured yet: about the reference case's 108 at 1 and 1359 at 32.
 */
const ASSUMED_TOKENS_PER_SECOND = 100;
const ASSUMED_GROWTH_EXPONENT = 0.73;

/** What earlier launches of the study took, in seconds; undefined where none was measured. */
export interface Experience {
  readonly startSeconds: number | undefined;
  /** Seconds of one point, warm-up included, by concurrency. */
  readonly pointSeconds: ReadonlyMap<number, number>;
  /** Standard deviation of the baseline's score from launch to launch, where it is known. */
  readonly noiseFraction?: number;
}

export interface Estimate {
  /** At most: the confirmation ends as soon as nothing more can change. */
  readonly launches: number;
  readonly seconds: number;
  /** What the figure rests on, for the user. */
  readonly basis: string;
  /** Launches of trials in the search that the budget holds. */
  readonly searchLaunches: number;
  /** `all`: every trial is launched. `most-promising`: as many as the budget holds. */
  readonly search: 'all' | 'most-promising';
  /** Confirming launches of each finalist and the baseline. */
  readonly confirmingRounds: number;
  /**
   * Smallest true gain that is recommended with a chance of 90 %, where launches differ by
   * `noiseFraction`; null when there is no confirmation to speak of.
   */
  readonly resolvableGainFraction: number | null;
  readonly noiseFraction: number;
}

/**
 * Time of a sweep: every trial once with the baseline along the way, then the confirming launches
 * of finalists and baseline; and what of it the budget holds.
 *
 * Points take `requests x output tokens / speed`, half as much again for warm-up. The budget's
 * division is that of a sweep (budget.ts, finalists.ts): no more than half is kept for confirming.
 */
export function estimateSweep(
  study: Study,
  trials: number,
  experience: Experience,
  now: Date = new Date(),
): Estimate {
  const { finalists, launches, repeats } = study.measure;
  const arms = Math.min(finalists, Math.max(0, trials - 1));
  const rounds = arms === 0 ? 0 : launches - 1;
  const along = Math.max(0, Math.floor((trials - 2) / BASELINE_EVERY));
  const confirmations = confirmingLaunches(finalists, launches, trials - 1);
  const total = trials + along + confirmations;
  const points = [...study.profile.keys()].map(
    (concurrency) =>
      (experience.pointSeconds.get(concurrency) ?? assumedPointSeconds(study, concurrency)) *
      repeats,
  );
  const startSeconds = experience.startSeconds ?? ASSUMED_START_SECONDS;
  const perLaunch =
    startSeconds + ASSUMED_STOP_SECONDS + points.reduce((sum, seconds) => sum + seconds, 0);
  const held = Math.min(total, budgetLaunches(study.budget, perLaunch, now));
  const kept = Math.min(confirmations, Math.floor(held / 2));
  const searched = Math.min(trials + along, held - kept);
  const confirming = Math.min(confirmations, held - searched);
  const confirmed = affordableFinalists(arms, rounds, confirming);
  const confirmingRounds =
    rounds === 0 ? 0 : Math.min(rounds, Math.floor(confirming / (confirmed + 1)));
  const noiseFraction = experience.noiseFraction ?? ASSUMED_LAUNCH_NOISE_FRACTION;
  const gain = resolvableGainFraction({
    noiseFraction,
    finalists: confirmed,
    rounds: confirmingRounds,
  });
  return {
    launches: total,
    seconds: total * perLaunch,
    basis:
      experience.startSeconds === undefined
        ? `assumed: ${String(ASSUMED_START_SECONDS)} s for a start, ${String(ASSUMED_TOKENS_PER_SECOND)} tok/s for one request`
        : `measured: ${experience.startSeconds.toFixed(0)} s for a start`,
    searchLaunches: searched,
    search: searched < trials + along ? 'most-promising' : 'all',
    confirmingRounds,
    resolvableGainFraction: Number.isFinite(gain) ? gain : null,
    noiseFraction,
  };
}

/** Launches that fit into the budget; Infinity without one. */
function budgetLaunches(budget: Study['budget'], perLaunch: number, now: Date): number {
  const seconds = [
    ...(budget.hours === undefined ? [] : [budget.hours * 3600]),
    ...(budget.until === undefined ? [] : [msUntil(budget.until, now) / 1000]),
  ];
  const byTime = Math.floor(Math.min(Infinity, ...seconds) / perLaunch);
  return Math.min(budget.launches ?? Infinity, byTime);
}

/** Output tokens per second of a server of which nothing is known. */
export function assumedTokensPerSecond(concurrency: number): number {
  return ASSUMED_TOKENS_PER_SECOND * concurrency ** ASSUMED_GROWTH_EXPONENT;
}

function assumedPointSeconds(study: Study, concurrency: number): number {
  const requests = pointRequests(study.workload, concurrency);
  const tokens = requests * study.workload.outputTokens;
  return (
    (tokens / assumedTokensPerSecond(concurrency)) * 1.5 + pauseSeconds(study.workload, concurrency)
  );
}
