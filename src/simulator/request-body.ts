import { type PromptTokens, promptFromIds, promptFromText } from './prompt.ts';

/** A request body the server refuses, with SGLang's message. */
export class BodyError extends Error {}

export type Body = Readonly<Record<string, unknown>>;

const SAMPLING_FIELDS =
  'max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty presence_penalty repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag ignore_eos skip_special_tokens spaces_between_special_tokens no_stop_trim stream_interval logit_bias sampling_seed custom_params beam_width watermark choice'.split(
    ' ',
  );

/** Parses a JSON object; undefined when it is none. */
export function parseObject(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Body)
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === 'number');
}

/** A prompt as text or ids; undefined for anything else. */
export function readPrompt(value: unknown): PromptTokens | undefined {
  if (typeof value === 'string') return promptFromText(value);
  if (isIds(value)) return promptFromIds(value);
  if (Array.isArray(value) && value.length === 1) return readPrompt(value[0]);
  return undefined;
}

export interface Sampling {
  readonly maxNewTokens: number;
  readonly ignoreEos: boolean;
}

/** SGLang refuses impossible sampling parameters before the request reaches the scheduler. */
function checkTemperature(value: unknown): void {
  if (typeof value === 'number' && (value < 0 || !Number.isFinite(value))) {
    const shown = Number.isInteger(value) ? value.toFixed(1) : String(value);
    throw new BodyError(`temperature must be a non-negative finite number, got ${shown}.`);
  }
}

function readMaxTokens(value: unknown, fallback: number): number {
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw new BodyError(`max_new_tokens must be at least 0, got ${JSON.stringify(value)}.`);
  }
  return value;
}

/** `sampling_params` of `/generate`. */
export function readSamplingParams(value: unknown): Sampling {
  const params = (value ?? {}) as Body;
  const unknown = Object.keys(params).find((name) => !SAMPLING_FIELDS.includes(name));
  if (unknown !== undefined) {
    const expected = SAMPLING_FIELDS.map((name) => `\`${name}\``).join(', ');
    throw new BodyError(`unknown field \`${unknown}\`, expected one of ${expected}`);
  }
  checkTemperature(params['temperature']);
  return {
    maxNewTokens: readMaxTokens(params['max_new_tokens'], 128),
    ignoreEos: params['ignore_eos'] === true,
  };
}

/** Sampling fields of an OpenAI request body. */
export function readOpenAiSampling(body: Body, fallbackTokens: number): Sampling {
  checkTemperature(body['temperature']);
  const tokens = body['max_completion_tokens'] ?? body['max_tokens'];
  return {
    maxNewTokens: readMaxTokens(tokens, fallbackTokens),
    ignoreEos: body['ignore_eos'] === true,
  };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Text of chat messages as a template would join them; undefined when they are no messages. */
export function readMessages(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const parts = (value as unknown[]).map((message) => {
    const { role, content } = (message ?? {}) as Body;
    const text = Array.isArray(content)
      ? content.map((part) => asText((part as Body)['text'])).join('')
      : asText(content);
    return `<|im_start|>${typeof role === 'string' ? role : 'user'}\n${text}<|im_end|>\n`;
  });
  return `${parts.join('')}<|im_start|>assistant\n`;
}

/**
 * Checks that prompt and answer fit the context, as SGLang does before queueing.
 *
 * @throws BodyError with SGLang's words
 */
export function checkContext(
  promptTokens: number,
  maxNewTokens: number,
  contextLength: number,
): void {
  if (promptTokens >= contextLength) {
    throw new BodyError(
      `The input (${promptTokens} tokens) is longer than the model's context length (${contextLength} tokens).`,
    );
  }
  if (promptTokens + maxNewTokens > contextLength) {
    throw new BodyError(
      `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You requested a total of ${promptTokens + maxNewTokens} tokens: ${promptTokens} tokens from the input messages and ${maxNewTokens} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`,
    );
  }
}

/** JSON text of a string in ASCII, so that events can be written as latin1. */
export function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A request id given by the client, where it can stand in JSON as it is. */
export function readRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined;
}
