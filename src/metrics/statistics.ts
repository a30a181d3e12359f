import type { Distribution } from './point-metrics.ts';
import { studentTQuantile } from './student-t.ts';

export { studentTQuantile, studentTUpperTail } from './student-t.ts';

/** Arithmetic mean; undefined for no values. */
export function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return sum(values) / values.length;
}

/** Sample standard deviation (n - 1 in the denominator); undefined below two values. */
export function standardDeviation(values: readonly number[]): number | undefined {
  const centre = mean(values);
  if (centre === undefined || values.length < 2) return undefined;
  return Math.sqrt(sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1));
}

export function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/**
 * Nearest-rank percentile of an ascending array: the smallest value that at least `percent` of the
 * values do not exceed. Always one of the values, so never above the maximum (field report C18).
 * Undefined for no values; `percent` in 0..100.
 */
export function percentileOfSorted(
  ascending: ArrayLike<number>,
  percent: number,
): number | undefined {
  if (ascending.length === 0) return undefined;
  // 0.95 * 20 is 19.000000000000004 in floating point and must not round up to the 20th value.
  const rank = Math.ceil((percent / 100) * ascending.length - 1e-9);
  return ascending[Math.min(Math.max(rank, 1), ascending.length) - 1];
}

/** As {@link percentileOfSorted}, for values in any order. */
export function percentile(values: readonly number[], percent: number): number | undefined {
  return percentileOfSorted(Float64Array.from(values).sort(), percent);
}

/** Median as the mean of the two middle values; undefined for no values. */
export function median(values: readonly number[]): number | undefined {
  const ascending = Float64Array.from(values).sort();
  const upper = ascending[ascending.length >> 1];
  const lower = ascending[(ascending.length - 1) >> 1];
  return upper === undefined || lower === undefined ? undefined : (lower + upper) / 2;
}

/** Nearest-rank distribution of the values; null for none. `median` is the 50th percentile by nearest rank. */
export function distribution(values: readonly number[]): Distribution | null {
  const ascending = Float64Array.from(values).sort();
  const at = (percent: number): number => percentileOfSorted(ascending, percent) ?? Number.NaN;
  const centre = mean(values);
  if (centre === undefined) return null;
  const [min, max] = [at(0), at(100)];
  return {
    n: values.length,
    // The rounding of a sum can leave the mean of equal values outside [min, max] by one bit.
    mean: Math.min(Math.max(centre, min), max),
    median: at(50),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    min,
    max,
  };
}

/** An estimate with a two-sided interval. */
export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Mean with its t interval: `mean +- t(1 - (1 - confidence) / 2, n - 1) sd / sqrt(n)`.
 * Undefined below two values: no spread is known then, which is not a spread of zero.
 */
export function meanInterval(values: readonly number[], confidence: number): Interval | undefined {
  const estimate = mean(values);
  const sd = standardDeviation(values);
  if (estimate === undefined || sd === undefined) return undefined;
  const t = studentTQuantile(1 - (1 - confidence) / 2, values.length - 1);
  const half = (t * sd) / Math.sqrt(values.length);
  return { estimate, low: estimate - half, high: estimate + half };
}

/** Geometric mean `exp(mean(ln x))`; undefined for no values or a value that is not positive. */
export function geometricMean(values: readonly number[]): number | undefined {
  if (values.some((value) => !(value > 0))) return undefined;
  const centre = mean(values.map(Math.log));
  return centre === undefined ? undefined : Math.exp(centre);
}

/**
 * Geometric mean with the t interval of the logarithms, back on the scale of the values: for
 * throughputs, whose noise is a share of the value. Undefined below two values or for a value
 * that is not positive.
 */
export function logMeanInterval(
  values: readonly number[],
  confidence: number,
): Interval | undefined {
  if (values.some((value) => !(value > 0))) return undefined;
  const logs = meanInterval(values.map(Math.log), confidence);
  if (logs === undefined) return undefined;
  return {
    estimate: Math.exp(logs.estimate),
    low: Math.exp(logs.low),
    high: Math.exp(logs.high),
  };
}
