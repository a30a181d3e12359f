/** How a request ended. `failed` has `error`; only `completed` requests count as speed. */
export type RequestOutcome = 'completed' | 'failed' | 'aborted';

/** Why a request failed: who is to blame is decided from `kind`. */
export interface RequestError {
  /**
   * `refused` HTTP 4xx/5xx before a stream; `error-event` inside a 200 stream; `truncated` stream
   * ended without its last event; `connect` client-side connection failure; `timeout` our limit.
   */
  readonly kind:
    | 'refused'
    | 'error-event'
    | 'truncated'
    | 'connect'
    | 'reset'
    | 'timeout'
    | 'no-tokens';
  readonly message: string;
  readonly httpStatus?: number;
}

/**
 * One request of a load run. Moments are ms on the run's monotonic clock, in the server's time
 * (a simulated server may run faster than the wall clock), 0 = start of the run.
 */
export interface RequestRecord {
  readonly index: number;
  /** When it was due to be sent (closed loop: when its slot became free). */
  readonly intendedAtMs: number;
  readonly sentAtMs: number;
  /** First output of any kind, reasoning and tool calls included; absent if none came. */
  readonly firstTokenAtMs?: number;
  /** First visible text, where the server tells it from reasoning and tool calls; absent if none came. */
  readonly firstContentAtMs?: number;
  readonly lastTokenAtMs?: number;
  readonly endedAtMs: number;
  /** Arrival of each chunk that brought output, ascending. */
  readonly chunkAtMs: readonly number[];
  /** Output tokens so far at each chunk (server's own count), same length as `chunkAtMs`. Empty when the server counts only at the end. */
  readonly chunkTokens: readonly number[];
  /** From the server's usage; 0 when the request failed before any. */
  readonly outputTokens: number;
  readonly promptTokens: number;
  /** Prompt tokens answered from the prefix cache; absent when the server does not say. */
  readonly cachedTokens?: number;
  readonly requestedOutputTokens: number;
  /** Speculative verify steps; absent without speculation or on OpenAI endpoints. */
  readonly verifyCount?: number;
  /** Draft tokens proposed and accepted; absent where the server does not say. */
  readonly draftsProposed?: number;
  readonly draftsAccepted?: number;
  readonly finishReason?: string;
  /** `server`: counted by the server. `estimated`: no usage came, chunks were counted; not ranked. */
  readonly tokensFrom: 'server' | 'estimated';
  readonly outcome: RequestOutcome;
  readonly error?: RequestError;
  /** A reset on a reused socket before any byte, retried once (field report E13). */
  readonly retried?: boolean;
}
