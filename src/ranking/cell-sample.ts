import type { Distribution, MarkCode, PointMetrics } from '../metrics/point-metrics.ts';
import type { CellSample } from './trial-data.ts';

/** Marks that keep a measurement out of the ranking: its figure is not the server's speed. */
const BARRING: ReadonlySet<MarkCode> = new Set([
  'broken-invariant',
  'client-limited',
  'foreign-requests',
  'partial',
  'wrong-outputs',
]);

const LATENCIES = { ttft: 'ttftMs', itl: 'itlMs', tpot: 'tpotMs', e2e: 'e2eMs' } as const;
const STATISTICS = {
  mean: 'mean',
  median: 'median',
  p90: 'p90',
  p95: 'p95',
  p99: 'p99',
  max: 'max',
} as const satisfies Record<string, keyof Distribution>;

/** Figures other than latencies that a limit may name. */
const SCALARS = {
  output_tokens_per_second: 'outputTokensPerSecond',
  whole_run_tokens_per_second: 'wholeRunTokensPerSecond',
  per_request_tokens_per_second: 'perRequestTokensPerSecond',
  requests_per_second: 'requestsPerSecond',
  failure_fraction: 'failureFraction',
  short_fraction: 'shortFraction',
  accept_length: 'acceptLength',
  decoding_concurrency: 'decodingConcurrency',
  completed: 'completed',
} as const satisfies Record<string, keyof PointMetrics>;

/**
 * One measurement as the ranking takes it. What the measurement does not know (an imported table
 * has no latencies) is absent from `metrics`, not zero.
 */
export function cellSample(launchId: number, point: PointMetrics, round = 0): CellSample {
  return {
    launchId,
    round,
    outputTokensPerSecond: point.outputTokensPerSecond,
    throughputKind: point.throughputKind,
    tokensFrom: point.tokensFrom,
    metrics: metricsOf(point),
    barredBy: point.marks.map(({ code }) => code).filter((code) => BARRING.has(code)),
    shortFraction: point.shortFraction,
  };
}

function metricsOf(point: PointMetrics): Record<string, number> {
  const unknown = unknownFigures(point);
  const metrics: Record<string, number> = {};
  if (point.goodput !== undefined) metrics['goodput_fraction'] = point.goodput.fraction;
  for (const [name, key] of Object.entries(SCALARS)) {
    const value = point[key];
    if (value !== null && !unknown.has(key)) metrics[name] = value;
  }
  for (const [latency, key] of Object.entries(LATENCIES)) {
    const distribution = point[key];
    if (distribution === null) continue;
    for (const [statistic, of] of Object.entries(STATISTICS)) {
      if (unknown.has(`${key}.${of}`)) continue;
      metrics[`${statistic}_${latency}_ms`] = distribution[of];
    }
  }
  return metrics;
}

/**
 * Names of figures that an imported measurement does not know although their type needs a number
 * (fact `unknown` of its `imported` mark); show them as unknown, never as 0.
 */
export function unknownFigures(point: PointMetrics): ReadonlySet<string> {
  const mark = point.marks.find(({ code }) => code === 'imported');
  const names = mark?.facts['unknown'];
  return new Set(typeof names === 'string' && names !== '' ? names.split(',') : []);
}
