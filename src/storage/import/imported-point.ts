import { serverBound } from '../../metrics/point-marks.ts';
import type { Distribution, Mark, PointMetrics } from '../../metrics/point-metrics.ts';

/** What is known of a point measured elsewhere; everything absent is unknown. */
export interface ImportedPoint {
  readonly concurrency: number;
  readonly outputTokensPerSecond: number;
  readonly perRequestTokensPerSecond?: number;
  readonly outputTokens?: number;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly durationSeconds?: number;
  readonly completed?: number;
  readonly failed?: number;
  readonly acceptLength?: number;
  readonly ttftMs?: Partial<Distribution>;
  readonly itlMs?: Partial<Distribution>;
  readonly tpotMs?: Partial<Distribution>;
  readonly e2eMs?: Partial<Distribution>;
  readonly tokensFrom: PointMetrics['tokensFrom'];
}

const LATENCIES = ['ttftMs', 'itlMs', 'tpotMs', 'e2eMs'] as const;
const STATISTICS = ['n', 'mean', 'median', 'p90', 'p95', 'p99', 'min', 'max'] as const;

/**
 * Metrics of an imported point. The figure is the whole run's, as others print it.
 *
 * Figures whose type needs a number but that are unknown are 0 and named in the fact `unknown` of
 * the `imported` mark (`promptTokens`, `ttftMs.max`), so that no reader takes them for zero.
 * `decodingConcurrency` is aggregate over per-request speed (Little's law): per-request speed
 * leaves the wait for the first token out.
 */
export function importedMetrics(point: ImportedPoint, source: string): PointMetrics {
  const unknown: string[] = [];
  const orUnknown = (name: string, value: number | undefined): number => {
    if (value === undefined) unknown.push(name);
    return value ?? 0;
  };
  const { completed, failed, outputTokensPerSecond, durationSeconds } = point;
  const perRequest = point.perRequestTokensPerSecond ?? null;
  const decodingConcurrency = perRequest === null ? null : outputTokensPerSecond / perRequest;
  const requests = completed === undefined ? undefined : completed + (failed ?? 0);
  const perSecond = (count: number | undefined) =>
    count === undefined || !(durationSeconds !== undefined && durationSeconds > 0)
      ? undefined
      : count / durationSeconds;
  const latencies = LATENCIES.map(
    (name) => [name, distributionOf(name, point[name], unknown)] as const,
  );
  const metrics: Omit<PointMetrics, 'marks' | (typeof LATENCIES)[number]> = {
    concurrency: point.concurrency,
    requests: orUnknown('requests', requests),
    completed: orUnknown('completed', completed),
    failed: orUnknown('failed', failed),
    failureFraction: orUnknown('failureFraction', fraction(failed, requests)),
    shortFraction: orUnknown('shortFraction', undefined),
    outputTokens: orUnknown('outputTokens', point.outputTokens),
    promptTokens: orUnknown('promptTokens', point.promptTokens),
    cachedTokens: point.cachedTokens ?? null,
    durationSeconds: orUnknown('durationSeconds', durationSeconds),
    wholeRunTokensPerSecond: outputTokensPerSecond,
    steadyTokensPerSecond: null,
    steadyWindowMs: null,
    outputTokensPerSecond,
    throughputKind: 'whole-run',
    requestsPerSecond: orUnknown('requestsPerSecond', perSecond(completed)),
    perRequestTokensPerSecond: perRequest,
    decodingConcurrency,
    acceptLength: point.acceptLength ?? null,
    tokensFrom: point.tokensFrom,
  };
  const distributions = Object.fromEntries(latencies) as Pick<
    PointMetrics,
    (typeof LATENCIES)[number]
  >;
  const imported: Mark = { code: 'imported', facts: { source, unknown: unknown.join(',') } };
  return { ...metrics, ...distributions, marks: [imported, ...remarks(metrics)] };
}

function remarks(metrics: Omit<PointMetrics, 'marks' | (typeof LATENCIES)[number]>): Mark[] {
  const bound = serverBound(metrics);
  const { failed, failureFraction } = metrics;
  return [
    ...(bound === undefined ? [] : [bound]),
    ...(failed > 0
      ? [{ code: 'failed-requests', facts: { failed, failureFraction } } as const]
      : []),
    ...(metrics.tokensFrom === 'estimated'
      ? [{ code: 'estimated-tokens', facts: { requests: metrics.completed } } as const]
      : []),
  ];
}

function fraction(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || whole === 0) return undefined;
  return part / whole;
}

function distributionOf(
  name: string,
  known: Partial<Distribution> | undefined,
  unknown: string[],
): Distribution | null {
  if (known === undefined || Object.keys(known).length === 0) return null;
  const entries = STATISTICS.map((statistic) => {
    if (known[statistic] === undefined) unknown.push(`${name}.${statistic}`);
    return [statistic, known[statistic] ?? 0] as const;
  });
  return Object.fromEntries(entries) as Record<keyof Distribution, number>;
}
