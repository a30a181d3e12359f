import { seededRandom } from './prompts/seeded-random.ts';

/** Gaps between arrivals of an open loop, all with the same mean. */
export const arrivalProcesses = {
  /** Exponential gaps: independent users. */
  poisson: (unit: () => number) => exponential(unit),
  constant: () => 1,
  /**
   * Gamma gaps of shape `burstiness`: below 1 in bursts, 1 as Poisson, above 1 more even (vLLM's
   * and SGLang's benchmarks define it alike).
   */
  gamma: (unit: () => number, burstiness: number) => gamma(burstiness, unit) / burstiness,
} satisfies Record<string, (unit: () => number, burstiness: number) => number>;

export type ArrivalProcess = keyof typeof arrivalProcesses;

/** When requests are sent. */
export type Arrivals =
  /** `concurrency` in flight; each place waits `thinkTimeMs` after an answer (default 0). */
  | { readonly kind: 'closed'; readonly thinkTimeMs?: number }
  /** At their own times, however many are in flight already. */
  | {
      readonly kind: 'open';
      readonly requestsPerSecond: number;
      readonly process: ArrivalProcess;
      /** Shape of gamma gaps; default 1. */
      readonly burstiness?: number;
      readonly seed: number;
    };

/**
 * Moments at which an open loop is due to send, ms from its start, ascending; the first is 0. The
 * gaps are scaled so that the last arrival comes exactly at `(count - 1) / rate`: a sample of 100
 * exponential gaps would miss the rate by 10 %.
 */
export function arrivalTimes(
  arrivals: Extract<Arrivals, { kind: 'open' }>,
  count: number,
): readonly number[] {
  const random = seededRandom('arrivals', arrivals.seed);
  // Never 0, whose logarithm is infinite.
  const unit = (): number => (random.below(0x7fffffff) + 1) / 0x80000000;
  const gap = arrivalProcesses[arrivals.process];
  const times = [0];
  for (let i = 1; i < count; i += 1) {
    times.push((times[i - 1] ?? 0) + gap(unit, arrivals.burstiness ?? 1));
  }
  const last = times.at(-1) ?? 0;
  const scale = last > 0 ? ((count - 1) * 1000) / arrivals.requestsPerSecond / last : 0;
  return times.slice(0, count).map((time) => time * scale);
}

function exponential(unit: () => number): number {
  return -Math.log(unit());
}

/** A gamma variate of scale 1 (Marsaglia and Tsang, 2000; below shape 1 boosted by U^(1/shape)). */
function gamma(shape: number, unit: () => number): number {
  if (shape < 1) return gamma(shape + 1, unit) * unit() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(unit())) * Math.cos(2 * Math.PI * unit());
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(unit()) < x * x * 0.5 + d - d * v + d * Math.log(v)) return d * v;
  }
}
