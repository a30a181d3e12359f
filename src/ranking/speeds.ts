import { mean } from '../metrics/statistics.ts';
import type { CellSample, TrialData } from './trial-data.ts';

/** What a trial did at one concurrency, from its usable samples. */
export interface Cell {
  /** Geometric mean over launches of the geometric mean over each launch's repeats. */
  readonly outputTokensPerSecond: number;
  readonly throughputKind: CellSample['throughputKind'];
  /** Measurements it rests on. */
  readonly n: number;
  /** Logarithms of the speeds, by launch. */
  readonly logsByLaunch: ReadonlyMap<number, readonly number[]>;
  /** Round of each launch (phases.ts). */
  readonly roundByLaunch: ReadonlyMap<number, number>;
  readonly latestRound: number;
}

export type ThroughputKind = CellSample['throughputKind'];

/** Samples that may be ranked. */
export function usable(samples: readonly CellSample[] | undefined): readonly CellSample[] {
  return (samples ?? []).filter(({ barredBy }) => barredBy.length === 0);
}

/**
 * Which figure compares like with like at each measured concurrency: `steady` where every trial's
 * samples have a steady window, else the whole run's for all of them, because ramp and drain are
 * in one and not in the other.
 */
export function commonKinds(trials: readonly TrialData[]): ReadonlyMap<number, ThroughputKind> {
  const kinds = new Map<number, ThroughputKind>();
  for (const { cells } of trials) {
    for (const [concurrency, samples] of cells) {
      for (const { throughputKind } of usable(samples)) {
        if (kinds.get(concurrency) === 'whole-run') continue;
        kinds.set(concurrency, throughputKind);
      }
    }
  }
  return kinds;
}

/** A trial's cells by concurrency, ascending, each as the given kind of throughput. */
export function cellsOf(
  trial: TrialData,
  kinds: ReadonlyMap<number, ThroughputKind>,
): ReadonlyMap<number, Cell> {
  const cells = new Map<number, Cell>();
  for (const [concurrency, all] of [...trial.cells].sort(([a], [b]) => a - b)) {
    const samples = usable(all);
    const kind = kinds.get(concurrency);
    if (samples.length === 0 || kind === undefined) continue;
    const logsByLaunch = new Map<number, number[]>();
    const roundByLaunch = new Map<number, number>();
    let latestRound = 0;
    for (const sample of samples) {
      const log = Math.log(speedOf(sample, kind));
      const logs = logsByLaunch.get(sample.launchId);
      if (logs === undefined) logsByLaunch.set(sample.launchId, [log]);
      else logs.push(log);
      const round = sample.round ?? 0;
      roundByLaunch.set(sample.launchId, round);
      latestRound = Math.max(latestRound, round);
    }
    cells.set(concurrency, {
      outputTokensPerSecond: centre(logsByLaunch, samples, kind),
      throughputKind: kind,
      n: samples.length,
      logsByLaunch,
      roundByLaunch,
      latestRound,
    });
  }
  return cells;
}

function centre(
  logsByLaunch: ReadonlyMap<number, readonly number[]>,
  samples: readonly CellSample[],
  kind: ThroughputKind,
): number {
  const [only, another] = samples;
  // One figure is shown as it was measured, without the last bit that exp(ln x) changes.
  if (only !== undefined && another === undefined) return speedOf(only, kind);
  const launchMeans = [...logsByLaunch.values()].map((logs) => mean(logs) ?? Number.NaN);
  return Math.exp(mean(launchMeans) ?? Number.NaN);
}

function speedOf(sample: CellSample, kind: ThroughputKind): number {
  if (kind === sample.throughputKind) return sample.outputTokensPerSecond;
  return sample.metrics['whole_run_tokens_per_second'] ?? sample.outputTokensPerSecond;
}
