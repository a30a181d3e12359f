import type { RequestError, RequestOutcome } from '../metrics/request-record.ts';
import type { AnswerFacts, AnswerReader } from './answer-reader.ts';
import type { Connection, ExchangeHandler } from './connection.ts';
import type { ResponseHead } from './http-response.ts';
import { SseScanner } from './sse-scanner.ts';
import { errorMessage, parseJson } from './stream-error.ts';

/** Enough of an error body to understand it. */
const MAX_BODY_BYTES = 64 * 1024;

export interface OutgoingRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly reader: AnswerReader;
  /** The run's clock, ms. */
  readonly nowMs: () => number;
  /** Called at every sign of life: response headers and each chunk. */
  readonly onActivity: (atMs: number) => void;
}

/** How one attempt ended. */
export interface Answer {
  readonly outcome: RequestOutcome;
  readonly facts: AnswerFacts;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly error?: RequestError;
  /** The server closed a socket that an earlier request had used, before any byte of this answer. */
  readonly staleSocket: boolean;
}

/** A request on its way. */
export interface InFlight {
  readonly sentAtMs: number;
  readonly answer: Promise<Answer>;
  /** Output tokens that have arrived. */
  tokensSoFar(): number;
  /** Ends it now by closing its socket: `answer` resolves with this outcome. */
  cancel(outcome: 'failed' | 'aborted', error: RequestError): void;
}

/** Sends a request on the connection. Never rejects: failures are answers with an `error`. */
export function sendRequest(connection: Connection, request: OutgoingRequest): InFlight {
  const exchange = new Exchange(connection, request);
  const { path, headers, body } = request;
  connection.send({ method: 'POST', path, headers, body }, exchange);
  return exchange;
}

/** One request and what came back so far. */
class Exchange implements ExchangeHandler, InFlight {
  readonly sentAtMs: number;
  readonly answer: Promise<Answer>;
  readonly #connection: Connection;
  readonly #request: OutgoingRequest;
  readonly #scanner: SseScanner;
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  #resolve!: (answer: Answer) => void;
  #sent = false;
  #reused = false;
  #status = 0;
  #contentType = '';
  #streams = false;
  #chunkAtMs = 0;

  constructor(connection: Connection, request: OutgoingRequest) {
    this.#connection = connection;
    this.#request = request;
    this.#scanner = new SseScanner((bytes, from, to) => {
      request.reader.event(bytes, from, to, this.#chunkAtMs);
    });
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.sentAtMs = request.nowMs();
  }

  tokensSoFar(): number {
    return this.#request.reader.tokensSoFar();
  }

  cancel(outcome: 'failed' | 'aborted', error: RequestError): void {
    this.#connection.abort();
    this.#finish(outcome, this.#request.reader.facts(false), error);
  }

  onSent(reused: boolean): void {
    this.#sent = true;
    this.#reused = reused;
  }

  onHead({ status, contentType }: ResponseHead): void {
    this.#request.onActivity(this.#request.nowMs());
    this.#status = status;
    this.#contentType = contentType;
    this.#streams = status === 200 && contentType.includes('text/event-stream');
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    this.#chunkAtMs = this.#request.nowMs();
    this.#request.onActivity(this.#chunkAtMs);
    if (this.#streams) {
      this.#scanner.push(bytes, from, to);
    } else if (this.#bodyBytes < MAX_BODY_BYTES) {
      this.#body.push(Buffer.from(bytes.subarray(from, to)));
      this.#bodyBytes += to - from;
    }
  }

  onEnd(): void {
    this.#chunkAtMs = this.#request.nowMs();
    if (!this.#streams) {
      this.#finish('failed', this.#request.reader.facts(false), this.#refusal());
      return;
    }
    this.#scanner.end();
    const facts = this.#request.reader.facts(true);
    this.#finish(facts.error === undefined ? 'completed' : 'failed', facts, facts.error);
  }

  onError(error: Error): void {
    const facts = this.#request.reader.facts(false);
    this.#finish('failed', facts, transportError(error, this.#sent), isStaleSocket(error));
  }

  #refusal(): RequestError {
    const body = Buffer.concat(this.#body).toString();
    if (this.#status === 200) {
      const what = this.#contentType === '' ? 'no content type' : this.#contentType;
      return { kind: 'truncated', message: `the answer is no event stream (${what})` };
    }
    const message = body === '' ? 'no reason given' : errorMessage(parseJson(body) ?? body);
    return {
      kind: 'refused',
      message: `HTTP ${this.#status}: ${message.slice(0, 500)}`,
      httpStatus: this.#status,
    };
  }

  #finish(
    outcome: RequestOutcome,
    facts: AnswerFacts,
    error?: RequestError,
    resetError = false,
  ): void {
    this.#resolve({
      outcome,
      facts,
      sentAtMs: this.sentAtMs,
      endedAtMs: this.#request.nowMs(),
      staleSocket: resetError && this.#reused && this.#status === 0,
      ...(error === undefined ? {} : { error }),
    });
  }
}

const RESET_CODES = new Set(['ECONNRESET', 'EPIPE']);

function isStaleSocket(error: Error): boolean {
  return RESET_CODES.has(codeOf(error));
}

/** Who is to blame: before the request was sent it is the connection, on our side. */
function transportError(error: Error, sent: boolean): RequestError {
  const code = codeOf(error);
  const message = `${error.message}${code === '' ? '' : ` (${code})`}`;
  return { kind: sent ? 'reset' : 'connect', message };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
