import type { RequestError } from '../metrics/request-record.ts';

const DONE = Buffer.from('[DONE]');
/** An error event names its error at once; no need to look further into an event. */
const ERROR_HEAD_BYTES = 48;
const [QUOTE, LETTER_E, LETTER_O] = [34, 101, 111];
const ERROR_KEY = Buffer.from('"error"');

/** True for the event that ends SGLang's and OpenAI's streams. */
export function isDone(bytes: Buffer, from: number, to: number): boolean {
  return to - from === DONE.length && DONE.compare(bytes, from, to) === 0;
}

/**
 * The error that an event of a 200 stream carries: `{"error": {...}}` or `{"object": "error", ...}`;
 * undefined for an ordinary event. SGLang's own benchmark counts such a request as a success with
 * the full output length (sglang.md 7.2).
 */
export function errorEvent(bytes: Buffer, from: number, to: number): RequestError | undefined {
  // Events begin `{"id"`, `{"text"`: only those that may begin with `"error"` or `"object"` are searched.
  const letter = bytes[from + 2];
  if (bytes[from + 1] === QUOTE && letter !== LETTER_E && letter !== LETTER_O) return undefined;
  // In JSON text a quote inside a string is escaped, so generated text never matches this.
  const head = bytes.subarray(from, Math.min(to, from + ERROR_HEAD_BYTES));
  return head.includes(ERROR_KEY)
    ? errorOf(parseJson(bytes.toString('utf8', from, to)))
    : undefined;
}

function errorOf(event: unknown): RequestError | undefined {
  if (!isObject(event)) return undefined;
  const error = event['object'] === 'error' ? event : event['error'];
  if (error === undefined || error === null) return undefined;
  const status = isObject(error) ? numberOf(error['code']) : undefined;
  return {
    kind: 'error-event',
    message: errorMessage(error),
    ...(status === undefined ? {} : { httpStatus: status }),
  };
}

/** The human part of an error body in the shapes of SGLang, vLLM, llama.cpp and FastAPI. */
export function errorMessage(body: unknown): string {
  if (typeof body === 'string') return body;
  if (!isObject(body)) return JSON.stringify(body);
  const inner = body['error'] ?? body['message'] ?? body['detail'];
  return inner === undefined ? JSON.stringify(body) : errorMessage(inner);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Parsed JSON, or undefined for text that is none (a proxy's HTML page, an event cut short). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Why an answer without an error event is still not whole; undefined when it is. */
export function incompleteAnswer(facts: {
  readonly ended: boolean;
  readonly finishReason: string | undefined;
  readonly outputTokens: number;
}): RequestError | undefined {
  if (!facts.ended || facts.finishReason === undefined) {
    return { kind: 'truncated', message: 'the stream ended without a finish reason' };
  }
  if (facts.outputTokens === 0) {
    return { kind: 'no-tokens', message: 'the answer ended without any output token' };
  }
  return undefined;
}
