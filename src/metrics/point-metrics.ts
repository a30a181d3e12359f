import type { Goodput } from './goodput.ts';
import type { ServerCounts } from './server-counts.ts';

/** Distribution of one latency: ms, with the number of samples it rests on. */
export interface Distribution {
  readonly n: number;
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

/** A remark on a measurement; formatted in report/, with advice. */
export interface Mark {
  readonly code: MarkCode;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

export type MarkCode =
  /** Fewer than three waves of requests: whole-run throughput is used. */
  | 'too-short'
  /** Fewer requests were decoding than were in flight: bound by the server. */
  | 'server-bound'
  /** The prompt is the same every time, the prefix cache may answer it. */
  | 'cacheable-prompts'
  | 'prefix-cache-hits'
  | 'short-answers'
  | 'failed-requests'
  | 'estimated-tokens'
  | 'broken-invariant'
  | 'client-limited'
  | 'not-flushed'
  | 'unsettled-warm-up'
  /** Whole-run figure of a table measured elsewhere. */
  | 'imported'
  /** The running limit that the server reports is below the concurrency. */
  | 'above-running-limit'
  /** The batch is larger than the largest captured graph: decoding runs eager. */
  | 'eager-decode'
  /** The KV pool holds fewer tokens than the requests in flight need. */
  | 'kv-pool-too-small'
  | 'state-slots'
  /** The server runs another value of a swept flag than was asked. */
  | 'value-not-in-force'
  | 'simulated'
  | 'foreign-requests'
  /** The server's own count of output tokens is more than 3 % off the client's. */
  | 'server-count-differs'
  /** Speculation was measured on filler or random ids, which says nothing about it. */
  | 'unnatural-prompts'
  /** Answers of this launch are broken where the baseline's are sound. */
  | 'wrong-outputs'
  /** The GPUs' median clock was more than 3 % off that of the baseline at this concurrency. */
  | 'gpu-clock-differs'
  | 'partial';

/**
 * Everything computed from one measurement (one load run at one concurrency).
 * Throughputs in output tokens per second of the server's time.
 */
export interface PointMetrics {
  readonly concurrency: number;
  readonly requests: number;
  readonly completed: number;
  readonly failed: number;
  readonly failureFraction: number;
  /** Share of completed requests that ended before the requested length. */
  readonly shortFraction: number;
  readonly outputTokens: number;
  readonly promptTokens: number;
  readonly cachedTokens: number | null;
  readonly durationSeconds: number;
  /** Output tokens of completed requests / time from first send to last end. */
  readonly wholeRunTokensPerSecond: number;
  /** Tokens arriving in the steady window / its length; null if there is no such window. */
  readonly steadyTokensPerSecond: number | null;
  /** [start, end] ms from the start of the run. */
  readonly steadyWindowMs: readonly [number, number] | null;
  /** What the score uses: steady if there is one and the run has at least three waves, else whole-run. */
  readonly outputTokensPerSecond: number;
  readonly throughputKind: 'steady' | 'whole-run';
  readonly requestsPerSecond: number;
  /** Highest output rate over slices of at least a second; absent where it was not measured. */
  readonly peakTokensPerSecond?: number;
  /** Decode speed of a request: tokens after the first chunk / decode time, both summed over requests. */
  readonly perRequestTokensPerSecond: number | null;
  /** Little's law: aggregate / per-request speed = requests decoding at a time. */
  readonly decodingConcurrency: number | null;
  readonly ttftMs: Distribution | null;
  readonly itlMs: Distribution | null;
  readonly tpotMs: Distribution | null;
  readonly e2eMs: Distribution | null;
  /** First output - intended send: with the wait in a busy client or behind a rate (open loop). */
  readonly ttftFromIntendedMs?: Distribution | null;
  /** First visible text - send, where reasoning and tool calls are told apart from it. */
  readonly firstContentMs?: Distribution | null;
  /** Gaps between chunks, however many tokens a chunk brings: what a reader sees. */
  readonly chunkGapMs?: Distribution | null;
  /** Completed requests that meet the service-level objectives; absent without any. */
  readonly goodput?: Goodput;
  /** Requests sent again after a reset on a reused socket. */
  readonly retried?: number;
  /** Accepted / proposed draft tokens; absent where the server does not say. */
  readonly acceptRate?: number;
  /** What the server counted meanwhile; absent without a metrics endpoint. */
  readonly serverCounts?: ServerCounts;
  /** Rate of an open loop; absent for a closed one. */
  readonly offeredRequestsPerSecond?: number;
  /** Output tokens per verify step, bonus token included; null without verify counts. */
  readonly acceptLength: number | null;
  readonly tokensFrom: 'server' | 'estimated';
  readonly marks: readonly Mark[];
}
