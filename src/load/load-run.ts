import type { ClientLoad } from '../metrics/point-marks.ts';
import type { RequestRecord } from '../metrics/request-record.ts';
import type { Arrivals } from './arrivals.ts';
import type { Dialect } from './dialect.ts';

export type Api = 'native' | 'openai-completions' | 'openai-chat';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

/** One prompt: text, a conversation, or token ids (which the chat API does not take). */
export type Prompt =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'messages'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'ids'; readonly ids: readonly number[] };

/** Source of prompts: `prompt(i)` is the same for the same seed, salt and i. */
export interface PromptSource {
  readonly name: string;
  /** True when every prompt is the same, so that a prefix cache can answer it. */
  readonly cacheable: boolean;
  /** False for filler and random ids, on which speculation tells nothing (field report C21). */
  readonly natural: boolean;
  /** Share of each prompt that all have in common, on purpose; default 0. */
  readonly sharedFraction?: number;
  /** Sessions: this many requests in a row belong together, sent one after the other. Default 1. */
  readonly turns?: number;
  /** Pause before request `index` of a session, ms: a tool at work, a person reading. Default 0. */
  pauseMs?(index: number): number;
  prompt(index: number): Prompt;
}

/**
 * One load run until `requests` have ended: a closed loop with `concurrency` requests (sessions)
 * in flight, or an open loop that sends at its own times.
 */
export interface LoadPlan {
  readonly baseUrl: string;
  readonly api: Api;
  /** Model name of OpenAI requests. */
  readonly model: string;
  readonly apiKey?: string;
  /** Requests in flight; in an open loop only the number of sockets opened beforehand. */
  readonly concurrency: number;
  /** Default: a closed loop without think time. */
  readonly arrivals?: Arrivals | undefined;
  readonly requests: number;
  /** What an OpenAI server understands; default: everything. */
  readonly dialect?: Dialect | undefined;
  readonly prompts: PromptSource;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  readonly requestTimeoutMs: number;
  /** The run ends when this long no byte came from any stream although requests are in flight. */
  readonly stallMs: number;
  readonly pointTimeoutMs: number;
  /** Ends the run when more than this share of at least 10 ended requests failed. */
  readonly maxFailureFraction: number;
  /**
   * Ends the run when it is this slow by the time a run at `expectedTokensPerSecond` would be over:
   * fewer output tokens per second than `fraction` of that (field report D6). Default: never.
   */
  readonly hopeless?: { readonly expectedTokensPerSecond: number; readonly fraction: number };
  /**
   * Server seconds per wall second: 1 for every real server, above 1 for a simulated server that
   * runs its clock faster. Limits and records are in the server's time.
   */
  readonly timeScale: number;
}

export type LoadRunEnd =
  | 'completed'
  | 'stalled'
  | 'deadline'
  | 'failures'
  | 'hopeless'
  | 'interrupted';

/** What the load generator saw of itself. */
export type SelfCheck = ClientLoad &
  Required<Pick<ClientLoad, 'dispatchLagP99Ms' | 'peakInFlight'>>;

export interface LoadRun {
  /** One per request that was sent, by index. */
  readonly records: readonly RequestRecord[];
  readonly end: LoadRunEnd;
  readonly durationMs: number;
  readonly selfCheck: SelfCheck;
}

export interface LoadProgress {
  readonly ended: number;
  readonly failed: number;
  readonly total: number;
  readonly outputTokens: number;
}
