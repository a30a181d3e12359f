import type { Clock } from '../clock.ts';
import type { Slos } from '../metrics/goodput.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { Arrivals } from './arrivals.ts';
import type { Api, LoadProgress, LoadRun } from './load-run.ts';
import type { SessionShape } from './prompts/session-prompts.ts';
import type { IdRange } from './prompts/token-prompts.ts';
import type { ServerAccess } from './server-probe.ts';

/** What is asked of the server. */
export interface PointWorkload {
  readonly prompts: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  readonly api: Api;
  readonly requests?: number | undefined;
  readonly seed: number;
  readonly tokenId: number;
  /** Ids of `random-ids`, for a model of a small vocabulary. */
  readonly idRange?: IdRange | undefined;
  /** Share of each prompt that all prompts of the run have in common. */
  readonly sharedPrefixFraction?: number | undefined;
  readonly session?: SessionShape | undefined;
  /** Default: a closed loop without think time. */
  readonly arrivals?: Arrivals | undefined;
}

/**
 * How one point is measured: plain data, so that it can be sent to the machine on which the load
 * is made.
 */
export interface PointOptions extends ServerAccess {
  readonly model: string;
  readonly timeScale: number;
  readonly runningLimit?: number | null;
  readonly workload: PointWorkload;
  readonly concurrency: number;
  /** Requests of one warm-up window; 0 for no warm-up. Default: one wave. */
  readonly warmUpRequests?: number | undefined;
  /** A warm-up that has not settled by then is given up and marked; default 120 s. */
  readonly warmUpLimitSeconds?: number | undefined;
  /** Differs for every sweep, launch, round and repeat: no prompt is sent twice. Stored for a replay. */
  readonly salt: string;
  /** All in seconds of the server's time. */
  readonly requestTimeoutSeconds: number;
  readonly pointTimeoutSeconds: number;
  readonly stallSeconds: number;
  /** Default 0.5: a server that fails half of its requests is not worth waiting for. */
  readonly maxFailureFraction?: number | undefined;
  /** Ends the point when it is far below this by the time it should be over; null for never. */
  readonly expectedTokensPerSecond?: number | null | undefined;
  /** How far below; default 0.3 of the expected speed (field report D6), 0 for never. */
  readonly giveUpBelowFraction?: number | undefined;
  readonly slos?: Slos | undefined;
}

export interface PointDeps {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly onPhase?: ((phase: 'warm-up' | 'measure') => void) | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

export interface MeasuredPoint {
  readonly metrics: PointMetrics;
  readonly run: LoadRun;
  /** How it was taken: what is needed to take it again. */
  readonly conditions: Readonly<Record<string, string | number | boolean | null>>;
}
