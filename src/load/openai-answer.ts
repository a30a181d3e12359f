import type { RequestError } from '../metrics/request-record.ts';
import type { AnswerFacts, AnswerReader } from './answer-reader.ts';
import { completionTokens, holds } from './json-scan.ts';
import {
  errorEvent,
  incompleteAnswer,
  isDone,
  isObject,
  numberOf,
  parseJson,
} from './stream-error.ts';

const CLOSING_BRACE = 125;
const NO_FINISH = Buffer.from('"finish_reason":null');

interface Usage {
  readonly completionTokens: number;
  readonly promptTokens: number;
  readonly cachedTokens: number | undefined;
}

/**
 * Reads the stream of `/v1/completions` and `/v1/chat/completions`.
 *
 * Tokens come from the server's usage: on every chunk (`continuous_usage_stats`, SGLang and vLLM)
 * or only at the end (llama.cpp and others). Text, reasoning and tool-call deltas are output alike
 * (field report C5), and so is a chunk without text whose usage grew: the text of half a
 * multi-byte character is held back, its token is not.
 */
export class OpenAiAnswerReader implements AnswerReader {
  readonly #chunkAtMs: number[] = [];
  readonly #chunkTokens: number[] = [];
  /** An output chunk came without usage: the counts per chunk are not complete. */
  #uncounted = false;
  #usage: Usage | undefined;
  /** Latest count of the server, which a quick event brings without the rest of its usage. */
  #tokens: number | undefined;
  #finishReason: string | undefined;
  #error: RequestError | undefined;
  #firstContentAtMs: number | undefined;

  event(bytes: Buffer, from: number, to: number, atMs: number): void {
    if (isDone(bytes, from, to)) return;
    const error = errorEvent(bytes, from, to);
    if (error === undefined && this.#quick(bytes, from, to, atMs)) return;
    const text = error === undefined ? bytes.toString('utf8', from, to) : '';
    const event = parseJson(text);
    if (!isObject(event)) {
      this.#error ??= error ?? { kind: 'error-event', message: `no JSON: ${text.slice(0, 80)}` };
      return;
    }
    const choices: unknown = event['choices'];
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const usage = usageOf(event['usage']);
    this.#usage = usage ?? this.#usage;
    this.#tokens = usage?.completionTokens ?? this.#tokens;
    if (isObject(choice) && typeof choice['finish_reason'] === 'string') {
      this.#finishReason = choice['finish_reason'];
    }
    const output = isObject(choice) ? outputOf(choice) : undefined;
    if (output === 'content') this.#firstContentAtMs ??= atMs;
    this.#count(output !== undefined, usage?.completionTokens, atMs);
  }

  /**
   * Takes an event from the middle of an answer without parsing it: content was seen before, there
   * is no finish reason yet, and the count grew, so it can only add a chunk. False for any other.
   */
  #quick(bytes: Buffer, from: number, to: number, atMs: number): boolean {
    if (this.#firstContentAtMs === undefined || this.#uncounted) return false;
    if (bytes[to - 1] !== CLOSING_BRACE || !holds(bytes, from, to, NO_FINISH)) return false;
    const tokens = completionTokens(bytes, from, to);
    if (tokens === undefined || tokens <= (this.#chunkTokens.at(-1) ?? 0)) return false;
    this.#chunkAtMs.push(atMs);
    this.#chunkTokens.push(tokens);
    this.#tokens = tokens;
    return true;
  }

  /** Adds a chunk when the event brought output. */
  #count(output: boolean, tokens: number | undefined, atMs: number): void {
    const grew = tokens !== undefined && tokens > (this.#chunkTokens.at(-1) ?? 0);
    // A usage that comes only at the end is the total, not the tokens of a last chunk.
    if (!output && (!grew || this.#uncounted)) return;
    if (tokens === undefined) this.#uncounted = true;
    this.#chunkAtMs.push(atMs);
    this.#chunkTokens.push(tokens ?? this.#chunkTokens.at(-1) ?? 0);
  }

  tokensSoFar(): number {
    return this.#uncounted ? this.#chunkAtMs.length : (this.#chunkTokens.at(-1) ?? 0);
  }

  facts(ended: boolean): AnswerFacts {
    const firstContentAtMs = this.#firstContentAtMs;
    const outputTokens = this.#tokens ?? this.#chunkAtMs.length;
    const finishReason = this.#finishReason;
    const cachedTokens = this.#usage?.cachedTokens;
    const error = this.#error ?? incompleteAnswer({ ended, finishReason, outputTokens });
    return {
      chunkAtMs: this.#chunkAtMs,
      chunkTokens: this.#uncounted ? [] : this.#chunkTokens,
      ...(firstContentAtMs === undefined ? {} : { firstContentAtMs }),
      outputTokens,
      promptTokens: this.#usage?.promptTokens ?? 0,
      ...(cachedTokens === undefined ? {} : { cachedTokens }),
      ...(finishReason === undefined ? {} : { finishReason }),
      tokensFrom: this.#usage === undefined ? 'estimated' : 'server',
      ...(error === undefined ? {} : { error }),
    };
  }
}

/** What kind of output a choice brings: text to be seen, or reasoning and tool calls; undefined for none. */
function outputOf(choice: Record<string, unknown>): 'content' | 'hidden' | undefined {
  if (isText(choice['text'])) return 'content';
  const delta = choice['delta'];
  if (!isObject(delta)) return undefined;
  const { content, reasoning_content, reasoning, tool_calls } = delta;
  if (isText(content)) return 'content';
  if (isText(reasoning_content) || isText(reasoning)) return 'hidden';
  return Array.isArray(tool_calls) && tool_calls.length > 0 ? 'hidden' : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const completionTokens = numberOf(value['completion_tokens']);
  if (completionTokens === undefined) return undefined;
  const details = value['prompt_tokens_details'];
  return {
    completionTokens,
    promptTokens: numberOf(value['prompt_tokens']) ?? 0,
    cachedTokens: isObject(details) ? numberOf(details['cached_tokens']) : undefined,
  };
}
