import type { RequestError } from '../metrics/request-record.ts';
import type { AnswerFacts, AnswerReader } from './answer-reader.ts';
import { completionTokens } from './json-scan.ts';
import {
  errorEvent,
  incompleteAnswer,
  isDone,
  isObject,
  numberOf,
  parseJson,
} from './stream-error.ts';

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
  /** The last event: the first `#lastLength` bytes, in room that is used again and again. */
  #last = Buffer.alloc(0);
  #lastLength = 0;
  #error: RequestError | undefined;

  event(bytes: Buffer, from: number, to: number, atMs: number): void {
    if (isDone(bytes, from, to)) return;
    const error = errorEvent(bytes, from, to);
    if (error !== undefined) {
      this.#error ??= error;
      return;
    }
    this.#keepLast(bytes, from, to);
    const tokens = completionTokens(bytes, from, to);
    if (tokens === undefined) {
      this.#uncounted = true;
      this.#chunkAtMs.push(atMs);
    } else if (tokens > (this.#chunkTokens.at(-1) ?? 0)) {
      this.#chunkAtMs.push(atMs);
      this.#chunkTokens.push(tokens);
    }
  }

  #keepLast(bytes: Buffer, from: number, to: number): void {
    this.#lastLength = to - from;
    if (this.#lastLength > this.#last.length) {
      this.#last = Buffer.allocUnsafe(Math.max(1024, 2 * this.#lastLength));
    }
    bytes.copy(this.#last, 0, from, to);
  }

  tokensSoFar(): number {
    return this.#chunkTokens.at(-1) ?? this.#chunkAtMs.length;
  }

  facts(ended: boolean): AnswerFacts {
    const meta = metaInfo(this.#last.toString('utf8', 0, this.#lastLength));
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

function metaInfo(last: string): Record<string, unknown> {
  const event = parseJson(last);
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
