import type { RequestRecord } from '../metrics/request-record.ts';

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
  prompt(index: number): Prompt;
}

/** A closed loop: `concurrency` requests in flight, no think time, until `requests` have ended. */
export interface LoadPlan {
  readonly baseUrl: string;
  readonly api: Api;
  /** Model name of OpenAI requests. */
  readonly model: string;
  readonly apiKey?: string;
  readonly concurrency: number;
  readonly requests: number;
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
   * Server seconds per wall second: 1 for every real server, above 1 for a simulated server that
   * runs its clock faster. Limits and records are in the server's time.
   */
  readonly timeScale: number;
}

export type LoadRunEnd = 'completed' | 'stalled' | 'deadline' | 'failures' | 'interrupted';

/** What the load generator saw of itself. */
export interface SelfCheck {
  readonly eventLoopDelayP99Ms: number;
  /** CPU seconds of this process / wall seconds of the run. */
  readonly cpuFraction: number;
}

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
