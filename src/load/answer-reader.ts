import type { RequestError } from '../metrics/request-record.ts';
import type { Api } from './load-run.ts';
import { NativeAnswerReader } from './native-answer.ts';
import { OpenAiAnswerReader } from './openai-answer.ts';

/** What a stream said in total, once it has ended. */
export interface AnswerFacts {
  /** Arrival of each chunk that brought output, ms. */
  readonly chunkAtMs: readonly number[];
  /** Server's count of output tokens so far at each chunk; empty unless it came with every chunk. */
  readonly chunkTokens: readonly number[];
  /** First text that a reader sees: no reasoning, no tool call. Absent when none came or the API does not tell. */
  readonly firstContentAtMs?: number;
  readonly outputTokens: number;
  readonly promptTokens: number;
  readonly cachedTokens?: number;
  readonly verifyCount?: number;
  readonly draftsProposed?: number;
  readonly draftsAccepted?: number;
  readonly finishReason?: string;
  readonly tokensFrom: 'server' | 'estimated';
  /** An error event, a missing end, an answer without tokens. Absent when the answer is whole. */
  readonly error?: RequestError;
}

/** Understands the events of one answer. One reader per request. */
export interface AnswerReader {
  /** Takes one event's data, `from`..`to` of `bytes` during the call only, and its arrival in ms. */
  event(bytes: Buffer, from: number, to: number, atMs: number): void;
  /** Output tokens so far. */
  tokensSoFar(): number;
  /** What is known so far; `ended` says whether the stream came to its regular end. */
  facts(ended: boolean): AnswerFacts;
}

/** Add an API here and in `Api`. */
export const answerReaders = {
  native: () => new NativeAnswerReader(),
  'openai-completions': () => new OpenAiAnswerReader(),
  'openai-chat': () => new OpenAiAnswerReader(),
} satisfies Record<Api, () => AnswerReader>;
