import { type Interval, logMeanInterval, mean } from '../metrics/statistics.ts';
import type { ArrivalProcess } from './arrivals.ts';
import { measurePoint } from './measure-point.ts';
import type { MeasuredPoint, PointDeps, PointOptions } from './point-options.ts';

/** Requests of an open loop are not in flight by plan: this many sockets are open beforehand. */
const OPEN_LOOP_SOCKETS = 16;

/** What is measured one after the other. */
export interface BenchLoad {
  /** Closed loops with so many requests in flight; ignored when there are rates. */
  readonly concurrencies: readonly number[];
  /** Open loops of so many requests per second. */
  readonly rates?: readonly number[] | undefined;
  readonly process?: ArrivalProcess | undefined;
  readonly burstiness?: number | undefined;
}

export type BenchOptions = Omit<PointOptions, 'concurrency'> & BenchLoad;

/**
 * Measures each concurrency (or rate) in the given order and yields each point as it ends. A point
 * that was interrupted is the last one.
 */
export async function* runBench(
  options: BenchOptions,
  deps: PointDeps,
): AsyncGenerator<MeasuredPoint, void, void> {
  for (const pointOptions of pointsOf(options)) {
    const point = await measurePoint(pointOptions, deps);
    yield point;
    if (point.run.end === 'interrupted') return;
  }
}

function pointsOf(options: BenchOptions): readonly PointOptions[] {
  const { concurrencies, rates, process = 'poisson', burstiness, workload } = options;
  if (rates === undefined || rates.length === 0) {
    return concurrencies.map((concurrency) => ({ ...options, concurrency }));
  }
  return rates.map((requestsPerSecond) => ({
    ...options,
    concurrency: OPEN_LOOP_SOCKETS,
    salt: `${options.salt}/${requestsPerSecond}`,
    workload: {
      ...workload,
      arrivals: {
        kind: 'open',
        requestsPerSecond,
        process,
        ...(burstiness === undefined ? {} : { burstiness }),
        seed: workload.seed,
      },
    },
  }));
}

/** One point on one of two servers. */
export interface ComparedPoint {
  readonly server: 'first' | 'second';
  /** Position in the list of concurrencies or rates. */
  readonly position: number;
  readonly round: number;
  readonly point: MeasuredPoint;
}

/**
 * Measures two servers point by point in turns, the one that goes first alternating from round to
 * round, so that whatever drifts on the machine hits both. Both get the same prompts.
 */
export async function* runComparison(
  first: BenchOptions,
  second: BenchOptions,
  rounds: number,
  deps: PointDeps,
): AsyncGenerator<ComparedPoint, void, void> {
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (['first', 'second'] as const) : (['second', 'first'] as const);
    for (const position of pointsOf(first).keys()) {
      for (const server of order) {
        const options = pointsOf(server === 'first' ? first : second)[position];
        if (options === undefined) return;
        const salt = `${options.salt}/round ${round}`;
        const point = await measurePoint({ ...options, salt }, deps);
        yield { server, position, round, point };
        if (point.run.end === 'interrupted') return;
      }
    }
  }
}

/** Two servers at one point. */
export interface Comparison {
  readonly first: number;
  readonly second: number;
  /** Second / first: geometric mean over rounds, 95 % interval; absent below two rounds. */
  readonly ratio: Interval | undefined;
  readonly rounds: number;
}

/** Output tokens per second of both servers at a position; undefined until a round is complete. */
export function compareAt(
  points: readonly ComparedPoint[],
  position: number,
): Comparison | undefined {
  const speedOf = (server: ComparedPoint['server'], round: number): number | undefined =>
    points.find((p) => p.position === position && p.server === server && p.round === round)?.point
      .metrics.outputTokensPerSecond;
  const rounds = [...new Set(points.map(({ round }) => round))];
  const pairs = rounds
    .map((round) => [speedOf('first', round), speedOf('second', round)] as const)
    .filter((pair): pair is readonly [number, number] => !pair.includes(undefined));
  const first = mean(pairs.map(([speed]) => speed));
  const second = mean(pairs.map(([, speed]) => speed));
  if (first === undefined || second === undefined) return undefined;
  const ratio = logMeanInterval(
    pairs.map(([a, b]) => b / a),
    0.95,
  );
  return { first, second, ratio, rounds: pairs.length };
}
