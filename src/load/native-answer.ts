import type { RequestError } from '../metrics/request-record.ts';
import type { AnswerFacts, AnswerReader } from './answer-reader.ts';
import {
  errorEvent,
  incompleteAnswer,
  isDone,
  isObject,
  numberOf,
  parseJson,
} from './stream-error.ts';

/**
 * In JSON text a quote inside a string is escaped, so this occurs only as a key: generated text
 * cannot forge it.
 */
const TOKENS_KEY = Buffer.from('"completion_tokens"');
const [COLON, SPACE, ZERO, NINE] = [58, 32, 48, 57];

/**
 * Reads SGLang's native `/generate` stream. The text of an event is cumulative (or a delta with
 * `--incremental-streaming-output`), `completion_tokens` is cumulative either way.
 *
 * Events grow with the answer: parsing each would cost n^2 for an answer of n tokens. So only the
 * token count is read from the tail of each, and the last event is parsed as a whole.
 */
export class NativeAnswerReader implements AnswerReader {
  readonly #chunkAtMs: number[] = [];
  readonly #chunkTokens: number[] = [];
  /** Events with output but without a count (another server's dialect). */
  #uncounted = false;
  #last: Buffer | undefined;
  #error: RequestError | undefined;

  event(data: Buffer, atMs: number): void {
    if (isDone(data)) return;
    const error = errorEvent(data);
    if (error !== undefined) {
      this.#error ??= error;
      return;
    }
    this.#last = data;
    const tokens = completionTokens(data);
    if (tokens === undefined) {
      this.#uncounted = true;
      this.#chunkAtMs.push(atMs);
    } else if (tokens > (this.#chunkTokens.at(-1) ?? 0)) {
      this.#chunkAtMs.push(atMs);
      this.#chunkTokens.push(tokens);
    }
  }

  tokensSoFar(): number {
    return this.#chunkTokens.at(-1) ?? this.#chunkAtMs.length;
  }

  facts(ended: boolean): AnswerFacts {
    const meta = metaInfo(this.#last);
    const finish = finishOf(meta['finish_reason']);
    const counted = numberOf(meta['completion_tokens']) ?? this.#chunkTokens.at(-1);
    const outputTokens = counted ?? this.#chunkAtMs.length;
    const cachedTokens = numberOf(meta['cached_tokens']);
    const verifyCount = numberOf(meta['spec_verify_ct']);
    const draftsProposed = numberOf(meta['spec_num_proposed_drafts']);
    const draftsAccepted = numberOf(meta['spec_num_correct_drafts']);
    const error =
      this.#error ??
      finish.error ??
      incompleteAnswer({ ended, finishReason: finish.reason, outputTokens });
    return {
      chunkAtMs: this.#chunkAtMs,
      chunkTokens: this.#uncounted ? [] : this.#chunkTokens,
      outputTokens,
      promptTokens: numberOf(meta['prompt_tokens']) ?? 0,
      ...(cachedTokens === undefined ? {} : { cachedTokens }),
      ...(verifyCount === undefined ? {} : { verifyCount }),
      ...(draftsProposed === undefined ? {} : { draftsProposed }),
      ...(draftsAccepted === undefined ? {} : { draftsAccepted }),
      ...(finish.reason === undefined ? {} : { finishReason: finish.reason }),
      tokensFrom: counted === undefined ? 'estimated' : 'server',
      ...(error === undefined ? {} : { error }),
    };
  }
}

/** The number after the last `"completion_tokens":` of an event; undefined when there is none. */
function completionTokens(data: Buffer): number | undefined {
  const key = data.lastIndexOf(TOKENS_KEY);
  if (key === -1) return undefined;
  let at = key + TOKENS_KEY.length;
  while (data[at] === COLON || data[at] === SPACE) at += 1;
  let value: number | undefined;
  for (let digit = data[at]; digit !== undefined; digit = data[at]) {
    if (digit < ZERO || digit > NINE) break;
    value = (value ?? 0) * 10 + digit - ZERO;
    at += 1;
  }
  return value;
}

function metaInfo(last: Buffer | undefined): Record<string, unknown> {
  const event = last === undefined ? undefined : parseJson(last.toString());
  const meta = isObject(event) ? event['meta_info'] : undefined;
  return isObject(meta) ? meta : {};
}

/** SGLang 0.5 sends `{"type": "length", ...}`, older ones a plain string; `abort` is a failure. */
function finishOf(value: unknown): { reason?: string; error?: RequestError } {
  const reason = isObject(value) ? value['type'] : value;
  if (typeof reason !== 'string') return {};
  if (reason !== 'abort') return { reason };
  const message = isObject(value) ? value['message'] : undefined;
  const status = isObject(value) ? numberOf(value['status_code']) : undefined;
  return {
    reason,
    error: {
      kind: 'error-event',
      message: typeof message === 'string' ? message : 'aborted by the server',
      ...(status === undefined ? {} : { httpStatus: status }),
    },
  };
}
