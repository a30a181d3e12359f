import { goodput, type Slos } from './goodput.ts';
import { brokenPointInvariant, brokenRequestInvariant } from './invariants.ts';
import { type ClientLoad, MIN_WAVES, pointMarks } from './point-marks.ts';
import type { PointMetrics } from './point-metrics.ts';
import {
  chunkGapsMs,
  decodeTokensPerSecond,
  e2eMs,
  firstContentMs,
  itlMs,
  tpotMs,
  ttftFromIntendedMs,
  ttftMs,
} from './request-metrics.ts';
import type { RequestRecord } from './request-record.ts';
import { type ServerCounters, serverCountMarks, serverCounts } from './server-counts.ts';
import { distribution, sum } from './statistics.ts';
import {
  arrivalWindow,
  peakTokensPerSecond,
  steadyWindow,
  tokensInWindow,
} from './steady-window.ts';

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
  readonly selfCheck: ClientLoad | null;
  /** Rate of an open loop; absent for a closed one. */
  readonly offeredRequestsPerSecond?: number | undefined;
  /** True when places pause between requests (think time, sessions): fewer are in flight then. */
  readonly pauses?: boolean;
  /** False for filler and random ids; default true. */
  readonly natural?: boolean;
  /** Share of each prompt that is in common on purpose; default 0. */
  readonly sharedFraction?: number;
  readonly slos?: Slos | undefined;
  /** What the server counted during the run; absent without a metrics endpoint. */
  readonly serverCounted?: ServerCounters | undefined;
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

  const accept = acceptLength(completed);
  const rate = acceptRate(completed);
  const good = goodput(records, throughput.durationSeconds, input.slos);
  const server =
    input.serverCounted === undefined ? null : serverCounts(input.serverCounted, records);

  const marks = pointMarks({
    ...input,
    ...counts,
    acceptLength: accept,
    openLoop: input.offeredRequestsPerSecond !== undefined,
    pauses: input.pauses ?? false,
    natural: input.natural ?? true,
    sharedFraction: input.sharedFraction ?? 0,
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
    acceptLength: accept,
    ...(rate === undefined ? {} : { acceptRate: rate }),
    ...(good === undefined ? {} : { goodput: good }),
    ...(server === null ? {} : { serverCounts: server }),
    ...(input.offeredRequestsPerSecond === undefined
      ? {}
      : { offeredRequestsPerSecond: input.offeredRequestsPerSecond }),
    tokensFrom: completed.some((record) => record.tokensFrom === 'estimated')
      ? 'estimated'
      : 'server',
    marks: [...marks, ...serverCountMarks(server)],
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
    retried: records.filter((record) => record.retried === true).length,
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

  const openLoop = input.offeredRequestsPerSecond !== undefined;
  const window = openLoop ? arrivalWindow(records) : steadyWindow(records, concurrency);
  const steady = window && tokensInWindow(records, window) / ((window[1] - window[0]) / 1000);
  const useSteady =
    steady !== undefined && (openLoop || plannedRequests >= MIN_WAVES * concurrency);
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
    ttftFromIntendedMs: distribution(defined(completed.map(ttftFromIntendedMs))),
    firstContentMs: distribution(defined(completed.map(firstContentMs))),
    chunkGapMs: distribution(completed.flatMap(chunkGapsMs)),
  };
}

/** Output tokens per verify step, bonus token included: sum of tokens / sum of verify steps. */
function acceptLength(completed: readonly RequestRecord[]): number | null {
  const verified = completed.filter((record) => (record.verifyCount ?? 0) > 0);
  if (verified.length === 0) return null;
  const steps = sum(verified.map((record) => record.verifyCount ?? 0));
  return sum(verified.map((record) => record.outputTokens)) / steps;
}

/** Accepted / proposed draft tokens, both summed over requests; undefined where unknown. */
function acceptRate(completed: readonly RequestRecord[]): number | undefined {
  const proposed = sum(completed.map((record) => record.draftsProposed ?? 0));
  const accepted = sum(completed.map((record) => record.draftsAccepted ?? 0));
  return proposed > 0 ? accepted / proposed : undefined;
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
