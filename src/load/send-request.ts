import type { Dispatcher } from 'undici';
import type { RequestError, RequestOutcome } from '../metrics/request-record.ts';
import type { AnswerFacts, AnswerReader } from './answer-reader.ts';
import type { Connection } from './connection.ts';
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
  connection.dispatch(
    { path: request.path, method: 'POST', headers: request.headers, body: request.body },
    exchange,
  );
  return exchange;
}

/** One request and what came back so far; the handler that undici calls. */
class Exchange implements Dispatcher.DispatchHandler, InFlight {
  readonly sentAtMs: number;
  readonly answer: Promise<Answer>;
  readonly #connection: Connection;
  readonly #request: OutgoingRequest;
  readonly #scanner: SseScanner;
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  #resolve!: (answer: Answer) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #cancelled = false;
  #reused = false;
  #status = 0;
  #contentType = '';
  #chunkAtMs = 0;

  constructor(connection: Connection, request: OutgoingRequest) {
    this.#connection = connection;
    this.#request = request;
    this.#scanner = new SseScanner((data) => {
      request.reader.event(data, this.#chunkAtMs);
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
    this.#cancelled = true;
    this.#finish(outcome, this.#request.reader.facts(false), error);
    this.#controller?.abort(new Error(error.message));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#reused = this.#connection.countRequest();
    if (this.#cancelled) controller.abort(new Error('cancelled before it was sent'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#request.onActivity(this.#request.nowMs());
    this.#status = status;
    this.#contentType = String(headers['content-type'] ?? '');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunkAtMs = this.#request.nowMs();
    this.#request.onActivity(this.#chunkAtMs);
    if (this.#isStream()) {
      this.#scanner.push(chunk);
    } else if (this.#bodyBytes < MAX_BODY_BYTES) {
      this.#body.push(chunk);
      this.#bodyBytes += chunk.length;
    }
  }

  onResponseEnd(): void {
    this.#chunkAtMs = this.#request.nowMs();
    if (!this.#isStream()) {
      this.#finish('failed', this.#request.reader.facts(false), this.#refusal());
      return;
    }
    this.#scanner.end();
    const facts = this.#request.reader.facts(true);
    this.#finish(facts.error === undefined ? 'completed' : 'failed', facts, facts.error);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const facts = this.#request.reader.facts(false);
    const started = this.#controller !== undefined;
    this.#finish('failed', facts, transportError(error, started), isStaleSocket(error));
  }

  #isStream(): boolean {
    return this.#status === 200 && this.#contentType.includes('text/event-stream');
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

  /** The first end counts: a cancelled exchange still hears from undici afterwards. */
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

const RESET_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

function isStaleSocket(error: Error): boolean {
  return RESET_CODES.has(codeOf(error));
}

/** Who is to blame: without a started request it is the connection, on our side. */
function transportError(error: Error, started: boolean): RequestError {
  const code = codeOf(error);
  const message = `${error.message}${code === '' ? '' : ` (${code})`}`;
  if (!started) return { kind: 'connect', message };
  return { kind: TIMEOUT_CODES.has(code) ? 'timeout' : 'reset', message };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
