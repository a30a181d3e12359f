import { brokenPointInvariant, brokenRequestInvariant } from './invariants.ts';
import { MIN_WAVES, pointMarks } from './point-marks.ts';
import type { PointMetrics } from './point-metrics.ts';
import { decodeTokensPerSecond, e2eMs, itlMs, tpotMs, ttftMs } from './request-metrics.ts';
import type { RequestRecord } from './request-record.ts';
import { distribution, sum } from './statistics.ts';
import { peakTokensPerSecond, steadyWindow, tokensInWindow } from './steady-window.ts';

/** One load run as the metrics see it, with what is known of how it was taken. */
export interface PointInput {
  /** One per request that was sent, in any order. */
  readonly records: readonly RequestRecord[];
  readonly concurrency: number;
  /** Requests of the plan; more than were sent when the run was cut short. */
  readonly plannedRequests: number;
  /** How the load run ended; anything but `completed` marks the point as partial. */
  readonly end: string;
  /** Every prompt was the same. */
  readonly cacheable: boolean;
  /** Server seconds per wall second. */
  readonly timeScale: number;
  readonly selfCheck: { readonly eventLoopDelayP99Ms: number; readonly cpuFraction: number } | null;
  /** False: the prefix cache could not be emptied before the run. Null: not tried. */
  readonly flushed?: boolean | null;
  /** False: warm-up never settled. Null: not judged. */
  readonly settled?: boolean | null;
  /** Requests the server really runs at a time, as it reports; null when unknown. */
  readonly runningLimit?: number | null;
}

/**
 * Everything that is computed from one load run; see PointMetrics for each formula and unit.
 *
 * Only completed requests count as speed and latency: a refused request is not a fast one (field
 * report C17). Throws nothing: a run without any completed request has throughput 0 and no
 * latencies.
 */
export function computePointMetrics(input: PointInput): PointMetrics {
  const { records, concurrency } = input;
  const completed = records.filter((record) => record.outcome === 'completed');
  const counts = countRequests(records, completed);
  const throughput = throughputs(input, completed);
  const latencies = latencyDistributions(completed);
  const perRequest = decodeTokensPerSecond(completed) ?? null;
  const decodingConcurrency =
    perRequest === null ? null : throughput.outputTokensPerSecond / perRequest;

  const marks = pointMarks({
    ...input,
    ...counts,
    decodingConcurrency,
    cachedFraction:
      counts.cachedTokens === null ? null : counts.cachedTokens / Math.max(1, counts.promptTokens),
    estimatedRequests: completed.filter((record) => record.tokensFrom === 'estimated').length,
    brokenInvariant: brokenInvariant(completed, throughput, latencies),
    flushed: input.flushed ?? null,
    settled: input.settled ?? null,
    runningLimit: input.runningLimit ?? null,
  });
  return {
    concurrency,
    ...counts,
    ...throughput,
    perRequestTokensPerSecond: perRequest,
    decodingConcurrency,
    ...latencies,
    acceptLength: acceptLength(completed),
    tokensFrom: completed.some((record) => record.tokensFrom === 'estimated')
      ? 'estimated'
      : 'server',
    marks,
  };
}

function countRequests(records: readonly RequestRecord[], completed: readonly RequestRecord[]) {
  const failed = records.filter((record) => record.outcome === 'failed').length;
  const short = completed.filter((record) => record.outputTokens < record.requestedOutputTokens);
  const cached = defined(completed.map((record) => record.cachedTokens));
  return {
    requests: records.length,
    completed: completed.length,
    failed,
    failureFraction: share(failed, completed.length + failed),
    shortFraction: share(short.length, completed.length),
    outputTokens: sum(completed.map((record) => record.outputTokens)),
    promptTokens: sum(completed.map((record) => record.promptTokens)),
    cachedTokens: cached.length === 0 ? null : sum(cached),
  };
}

function throughputs(input: PointInput, completed: readonly RequestRecord[]) {
  const { records, concurrency, plannedRequests } = input;
  const startMs = least(records.map((record) => record.sentAtMs));
  const endMs = -least(records.map((record) => -record.endedAtMs));
  const durationSeconds = records.length === 0 ? 0 : (endMs - startMs) / 1000;
  const tokens = sum(completed.map((record) => record.outputTokens));
  const wholeRun = share(tokens, durationSeconds);

  const window = steadyWindow(records, concurrency);
  const steady = window && tokensInWindow(records, window) / ((window[1] - window[0]) / 1000);
  const useSteady = steady !== undefined && plannedRequests >= MIN_WAVES * concurrency;
  const peak = records.length === 0 ? undefined : peakTokensPerSecond(completed, [startMs, endMs]);
  return {
    durationSeconds,
    wholeRunTokensPerSecond: wholeRun,
    steadyTokensPerSecond: steady ?? null,
    steadyWindowMs: window ?? null,
    outputTokensPerSecond: useSteady ? steady : wholeRun,
    throughputKind: useSteady ? ('steady' as const) : ('whole-run' as const),
    requestsPerSecond: share(completed.length, durationSeconds),
    ...(peak === undefined ? {} : { peakTokensPerSecond: peak }),
  };
}

function latencyDistributions(completed: readonly RequestRecord[]) {
  return {
    ttftMs: distribution(defined(completed.map(ttftMs))),
    itlMs: distribution(completed.flatMap(itlMs)),
    tpotMs: distribution(defined(completed.map(tpotMs))),
    e2eMs: distribution(completed.map(e2eMs)),
  };
}

/** Output tokens per verify step, bonus token included: sum of tokens / sum of verify steps. */
function acceptLength(completed: readonly RequestRecord[]): number | null {
  const verified = completed.filter((record) => (record.verifyCount ?? 0) > 0);
  if (verified.length === 0) return null;
  const steps = sum(verified.map((record) => record.verifyCount ?? 0));
  return sum(verified.map((record) => record.outputTokens)) / steps;
}

function brokenInvariant(
  completed: readonly RequestRecord[],
  throughput: ReturnType<typeof throughputs>,
  latencies: ReturnType<typeof latencyDistributions>,
): string | undefined {
  for (const record of completed) {
    const broken = brokenRequestInvariant(record);
    if (broken !== undefined) return broken;
  }
  return brokenPointInvariant({
    peakTokensPerSecond: throughput.peakTokensPerSecond,
    meanTokensPerSecond: throughput.wholeRunTokensPerSecond,
    distributions: Object.values(latencies),
  });
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

function least(values: readonly number[]): number {
  return values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
}

function defined<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
