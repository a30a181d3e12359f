import { dunnettCritical } from '../metrics/dunnett.ts';
import { normalQuantile } from '../metrics/normal.ts';

/** Launches of one configuration differ by this (standard deviation) where nothing is measured. */
export const ASSUMED_LAUNCH_NOISE_FRACTION = 0.015;

export interface ConfirmingDesign {
  /** Standard deviation of one launch's score, as a share. */
  readonly noiseFraction: number;
  readonly finalists: number;
  /** Confirming launches of each finalist and of the baseline. */
  readonly rounds: number;
  readonly confidence?: number;
  /** Chance with which the difference is found. */
  readonly power?: number;
}

/**
 * Smallest true gain over the baseline that is found with probability `power` (default 90 %), as
 * a share: `(c + z) sd sqrt(2 / rounds)` with Dunnett's critical value c at
 * `(finalists)(rounds - 1)` degrees and the normal quantile z of the power. Infinity for fewer
 * than two rounds: then the noise itself is not known.
 */
export function resolvableGainFraction({
  noiseFraction,
  finalists,
  rounds,
  confidence = 0.95,
  power = 0.9,
}: ConfirmingDesign): number {
  if (rounds < 2 || finalists < 1) return Number.POSITIVE_INFINITY;
  const critical = dunnettCritical(finalists, finalists * (rounds - 1), confidence);
  const width = noiseFraction * Math.sqrt(2 / rounds);
  return Math.expm1((critical + normalQuantile(power)) * width);
}
