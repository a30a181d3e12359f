import type { Study } from '../config/study.ts';
import { requestsOfPoint } from '../load/requests-of-point.ts';

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
}

export interface Estimate {
  readonly launches: number;
  readonly seconds: number;
  /** What the figure rests on, for the user. */
  readonly basis: string;
}

/**
 * Time of a sweep: every trial once, then the further launches of finalists and baseline.
 *
 * Points take `requests x output tokens / speed`, half as much again for warm-up.
 */
export function estimateSweep(study: Study, trials: number, experience: Experience): Estimate {
  const { finalists, launches, repeats } = study.measure;
  const confirming = Math.min(finalists, Math.max(0, trials - 1));
  const total = trials + (confirming === 0 ? 0 : (confirming + 1) * (launches - 1));
  const points = [...study.profile.keys()].map(
    (concurrency) =>
      (experience.pointSeconds.get(concurrency) ?? assumedPointSeconds(study, concurrency)) *
      repeats,
  );
  const startSeconds = experience.startSeconds ?? ASSUMED_START_SECONDS;
  const perLaunch =
    startSeconds + ASSUMED_STOP_SECONDS + points.reduce((sum, seconds) => sum + seconds, 0);
  return {
    launches: total,
    seconds: total * perLaunch,
    basis:
      experience.startSeconds === undefined
        ? `assumed: ${String(ASSUMED_START_SECONDS)} s for a start, ${String(ASSUMED_TOKENS_PER_SECOND)} tok/s for one request`
        : `measured: ${experience.startSeconds.toFixed(0)} s for a start`,
  };
}

function assumedPointSeconds(study: Study, concurrency: number): number {
  const { outputTokens, requests } = study.workload;
  const tokens = (requests ?? requestsOfPoint(concurrency)) * outputTokens;
  const speed = ASSUMED_TOKENS_PER_SECOND * concurrency ** ASSUMED_GROWTH_EXPONENT;
  return (tokens / speed) * 1.5;
}
