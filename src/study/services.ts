import type { LoadProgress, LoadRunEnd } from '../load/load-run.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { RequestRecord } from '../metrics/request-record.ts';
import type { GpuSample } from '../server/gpu-clocks.ts';

/** What a ready server says of itself. */
export interface ServerFacts {
  readonly version: string | null;
  /** Served model name, for OpenAI requests. */
  readonly model: string;
  /** Server seconds per wall second; 1 unless the server is simulated. */
  readonly timeScale: number;
  readonly simulated: boolean;
  /** Requests it runs at a time, as it says itself; null when it does not. */
  readonly runningLimit: number | null;
  /** `/server_info` as JSON, secrets redacted; null when the server has none. */
  readonly serverInfo: Readonly<Record<string, unknown>> | null;
  /** Text of `/metrics`; absent without that route. */
  readonly metricsText?: string | undefined;
}

/** Asks a server; every method has its own time limit. */
export interface ServerProbe {
  /** A real completion of several tokens; rejects when none came. */
  complete(signal: AbortSignal): Promise<void>;
  facts(signal: AbortSignal): Promise<ServerFacts>;
  /** Requests at the server now, anybody's; null when it does not tell. */
  inFlight?(signal: AbortSignal): Promise<number | null>;
}

/** One measurement to take. */
export interface PointRequest {
  readonly facts: ServerFacts;
  readonly concurrency: number;
  readonly round: number;
  readonly repeat: number;
  /** True for a launch of the baseline: its answers are what others are compared with. */
  readonly isBaseline?: boolean;
  /** Baseline's speed here: a point far below it is given up. Null or absent: never. */
  readonly expectedTokensPerSecond?: number | null;
  readonly signal: AbortSignal;
  readonly onPhase: (phase: 'warm-up' | 'measure') => void;
  readonly onProgress: (progress: LoadProgress) => void;
}

/** `usable` false: the load run hit a limit (`why`); its numbers are kept but never ranked. */
export interface PointResult {
  readonly metrics: PointMetrics;
  readonly records: readonly RequestRecord[];
  readonly usable: boolean;
  readonly why: LoadRunEnd;
  readonly conditions: Readonly<Record<string, string | number | boolean | null>>;
  /** What the GPUs did meanwhile; absent where nobody looked. */
  readonly gpuSamples?: readonly GpuSample[] | undefined;
}

/** Takes measurements with the study's workload. */
export interface Measurer {
  measure(request: PointRequest): Promise<PointResult>;
}
