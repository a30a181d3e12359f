import type { StartConfig } from '../config/study.ts';
import type { ReadinessLimits } from '../server/readiness.ts';

/** Below this no start is called slow: a fast baseline says little about cold kernel caches. */
const LEAST_SECONDS = 300;
/** A trial may compile kernels that the baseline never needs. */
const TIMES_BASELINE = 3;

/**
 * Limits of a start once it is known how long the baseline's took: three times that, at least five
 * minutes, and longer only while it makes progress (field reports A11, A12); the study's own limits
 * are never exceeded. A first start, with cold caches, has those alone.
 *
 * @param baselineSeconds the longest start of the baseline so far; undefined before there was one.
 */
export function startLimits(
  { stallSeconds, totalSeconds }: StartConfig,
  baselineSeconds: number | undefined,
): ReadinessLimits {
  if (baselineSeconds === undefined) return { stallSeconds, totalSeconds };
  const expected = Math.max(LEAST_SECONDS, TIMES_BASELINE * baselineSeconds);
  return { stallSeconds, totalSeconds, expectedSeconds: Math.min(totalSeconds, expected) };
}
