import { halfWidth, noiseOf } from '../ranking/noise.ts';
import { cellsOf, commonKinds } from '../ranking/speeds.ts';
import type { TrialData } from '../ranking/trial-data.ts';

/** Factor that a throughput is multiplied and divided by for its interval, by trial and concurrency. */
export type CellIntervals = ReadonlyMap<number, ReadonlyMap<number, number>>;

/**
 * Two-sided t intervals of the throughput at each single concurrency, as a factor: the interval
 * is `[T / f, T * f]`. The noise of `ln T` at a concurrency is pooled over all trials, between
 * launches where there are several, else within. A figure that is not repeated has none.
 */
export function cellIntervals(trials: readonly TrialData[], confidence: number): CellIntervals {
  const kinds = commonKinds(trials);
  const cells = trials.map((data) => ({ trial: data.trial, cells: cellsOf(data, kinds) }));
  const found = new Map(trials.map(({ trial }) => [trial, new Map<number, number>()]));
  for (const concurrency of kinds.keys()) {
    const profile = new Map([[concurrency, 1]]);
    const noise = noiseOf(
      'time',
      profile,
      cells.map((one) => one.cells),
    );
    for (const one of cells) {
      const estimate = noise.estimate(one.cells);
      if (estimate?.isReplicated !== true) continue;
      const half = halfWidth(estimate, confidence);
      if (half !== undefined) found.get(one.trial)?.set(concurrency, Math.exp(half));
    }
  }
  return found;
}
