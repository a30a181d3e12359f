import { mean } from '../metrics/statistics.ts';
import type { Profile } from './score.ts';
import type { TrialData } from './trial-data.ts';

/** Latencies that are set against the score, by the name a limit gives them. */
const LATENCIES = ['p99_ttft_ms', 'p99_tpot_ms'] as const;

export interface ParetoPoint {
  readonly trial: number;
  readonly score: number;
  readonly latencyMs: number;
}

/** Trials of which no other has both the better score and the lower latency. */
export interface ParetoSet {
  readonly latency: (typeof LATENCIES)[number];
  /** Where the latency is taken: the highest concurrency with weight, as there it is longest. */
  readonly concurrency: number;
  /** Best score first, so that latency falls along it. */
  readonly front: readonly ParetoPoint[];
}

/**
 * Score against each latency, for those who would trade one for the other. Point figures (means
 * over a trial's usable measurements, noise not considered) of eligible trials that know the
 * latency; a latency that none knows has no set.
 */
export function paretoSets(
  ranked: readonly {
    readonly trial: number;
    readonly eligible: boolean;
    readonly score: number | null;
  }[],
  trials: readonly TrialData[],
  profile: Profile,
): readonly ParetoSet[] {
  const concurrency = Math.max(...profile.keys());
  const samples = new Map(trials.map(({ trial, cells }) => [trial, cells.get(concurrency) ?? []]));
  return LATENCIES.flatMap((latency): ParetoSet[] => {
    const points = ranked.flatMap(({ trial, eligible, score }): ParetoPoint[] => {
      if (!eligible || score === null) return [];
      const usable = (samples.get(trial) ?? []).filter(({ barredBy }) => barredBy.length === 0);
      const latencyMs = mean(usable.flatMap(({ metrics }) => metrics[latency] ?? []));
      return latencyMs === undefined ? [] : [{ trial, score, latencyMs }];
    });
    return points.length === 0 ? [] : [{ latency, concurrency, front: paretoFront(points) }];
  });
}

/**
 * Points that no other beats in one figure without losing in the other, best score first. Of equal
 * points all stay. In the time of a sort.
 */
export function paretoFront<T extends { readonly score: number; readonly latencyMs: number }>(
  points: readonly T[],
): readonly T[] {
  const front: T[] = [];
  for (const point of [...points].sort((a, b) => b.score - a.score || a.latencyMs - b.latencyMs)) {
    const last = front.at(-1);
    const isEqual = last?.score === point.score && last.latencyMs === point.latencyMs;
    if (last === undefined || isEqual || point.latencyMs < last.latencyMs) front.push(point);
  }
  return front;
}
