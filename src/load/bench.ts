import {
  type MeasuredPoint,
  measurePoint,
  type PointDeps,
  type PointOptions,
} from './measure-point.ts';

export interface BenchOptions extends Omit<PointOptions, 'concurrency'> {
  readonly concurrencies: readonly number[];
}

/**
 * Measures each concurrency in the given order and yields each point as it ends. A point that was
 * interrupted is the last one.
 */
export async function* runBench(
  options: BenchOptions,
  deps: PointDeps,
): AsyncGenerator<MeasuredPoint, void, void> {
  for (const concurrency of options.concurrencies) {
    const point = await measurePoint({ ...options, concurrency }, deps);
    yield point;
    if (point.run.end === 'interrupted') return;
  }
}
