import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { RequestError, RequestRecord } from '../metrics/request-record.ts';
import { abortRequests } from './abort-requests.ts';
import { answerReaders } from './answer-reader.ts';
import { type Connection, openConnections } from './connection.ts';
import type { LoadPlan, LoadProgress, LoadRun, LoadRunEnd } from './load-run.ts';
import { apiPaths, requestBody } from './request-body.ts';
import { type RunState, watchLimits } from './run-limits.ts';
import { startSelfCheck } from './self-check.ts';
import { type Answer, type InFlight, sendRequest } from './send-request.ts';
import { requestHeaders, serverAddress } from './server-url.ts';

/** Wall time that undici waits beyond our own limits, which name the limit that fired. */
const BACKSTOP_MS = 10_000;
/** Failures below this many ended requests are no share yet. */
const MIN_ENDED_FOR_SHARE = 10;

export interface LoadRunDeps {
  readonly clock: Clock;
  /** Ends the run as `interrupted`, keeping what was measured. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/**
 * Runs a closed loop: `concurrency` requests in flight, each answered one replaced at once, no
 * think time. All sockets are open before the clock starts. Whatever ends it, the run returns in
 * time with what was measured, and nothing of it is left on the server.
 *
 * Throws UserError when the server cannot be reached or the API cannot take the prompts.
 */
export async function runClosedLoop(plan: LoadPlan, deps: LoadRunDeps): Promise<LoadRun> {
  const { origin, path } = serverAddress(plan.baseUrl);
  const backstopMs = plan.requestTimeoutMs / plan.timeScale + BACKSTOP_MS;
  const prepared = new BodyQueue(plan);
  const connections = await openConnections(origin, plan.concurrency, {
    headersMs: backstopMs,
    bodyMs: backstopMs,
  });
  try {
    return await new ClosedLoop(plan, path + apiPaths[plan.api], prepared, deps).run(connections);
  } finally {
    await Promise.all(connections.map((connection) => connection.destroy()));
  }
}

/** Request bodies, `concurrency` ahead of their turn, so that a free slot sends without delay. */
class BodyQueue {
  readonly #plan: LoadPlan;
  readonly #bodies = new Map<number, Buffer>();
  #prepared = 0;
  /** Unique per run; with indices of one width no request id is a prefix of another. */
  readonly #runId = randomBytes(6).toString('hex');

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    for (let ahead = 0; ahead < plan.concurrency; ahead += 1) this.prepareNext();
  }

  requestId(index: number): string {
    return `nightsweep-${this.#runId}-${String(index).padStart(7, '0')}`;
  }

  take(index: number): Buffer {
    const body = this.#bodies.get(index) ?? this.#build(index);
    this.#bodies.delete(index);
    return body;
  }

  prepareNext(): void {
    if (this.#prepared >= this.#plan.requests) return;
    this.#bodies.set(this.#prepared, this.#build(this.#prepared));
    this.#prepared += 1;
  }

  #build(index: number): Buffer {
    const shape = { ...this.#plan, stream: true };
    return requestBody(shape, this.#plan.prompts.prompt(index), this.requestId(index));
  }
}

class ClosedLoop implements RunState {
  readonly #plan: LoadPlan;
  readonly #path: string;
  readonly #bodies: BodyQueue;
  readonly #deps: LoadRunDeps;
  readonly #records: RequestRecord[] = [];
  readonly #inFlight = new Map<number, InFlight>();
  /** Requests that we cut off: the server may still be working on them. */
  readonly #cancelled: string[] = [];
  #startMs = 0;
  #next = 0;
  #failed = 0;
  #outputTokens = 0;
  #lastByteAtMs = 0;
  #end: LoadRunEnd | undefined;

  constructor(plan: LoadPlan, path: string, bodies: BodyQueue, deps: LoadRunDeps) {
    this.#plan = plan;
    this.#path = path;
    this.#bodies = bodies;
    this.#deps = deps;
  }

  async run(connections: readonly Connection[]): Promise<LoadRun> {
    const { signal, clock } = this.#deps;
    const stop = new AbortController();
    const interrupt = (): void => {
      this.end('interrupted');
    };
    signal?.addEventListener('abort', interrupt, { once: true });
    if (signal?.aborted === true) interrupt();

    const finishSelfCheck = startSelfCheck();
    this.#startMs = clock.nowMs();
    const watching = watchLimits(this.#plan, this, clock, stop.signal);
    await Promise.all(connections.map((connection) => this.#slot(connection)));
    const durationMs = this.nowMs();
    const selfCheck = finishSelfCheck();
    stop.abort();
    signal?.removeEventListener('abort', interrupt);
    await watching;
    if (this.#plan.api === 'native') await abortRequests(this.#plan, this.#cancelled);

    const records = this.#records.toSorted((a, b) => a.index - b.index);
    return { records, end: this.#end ?? 'completed', durationMs, selfCheck };
  }

  /** The server's time since the start of the run, ms. */
  nowMs(): number {
    return (this.#deps.clock.nowMs() - this.#startMs) * this.#plan.timeScale;
  }

  lastByteAtMs(): number {
    return this.#lastByteAtMs;
  }

  inFlight(): number {
    return this.#inFlight.size;
  }

  expireRequests(sentBeforeMs: number): void {
    const seconds = this.#plan.requestTimeoutMs / 1000;
    const message = `no complete answer within the request limit of ${seconds} s`;
    for (const [index, request] of this.#inFlight) {
      if (request.sentAtMs <= sentBeforeMs) {
        this.#cancel(index, request, 'failed', { kind: 'timeout', message });
      }
    }
  }

  end(why: LoadRunEnd): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    const error: RequestError = { kind: 'timeout', message: `cut off, the run ended: ${why}` };
    for (const [index, request] of this.#inFlight) this.#cancel(index, request, 'aborted', error);
  }

  #cancel(
    index: number,
    request: InFlight,
    outcome: 'failed' | 'aborted',
    error: RequestError,
  ): void {
    this.#inFlight.delete(index);
    this.#cancelled.push(this.#bodies.requestId(index));
    request.cancel(outcome, error);
  }

  /** One of the `concurrency` places: sends the next request as soon as the last has ended. */
  async #slot(connection: Connection): Promise<void> {
    let freeAtMs = 0;
    while (this.#end === undefined && this.#next < this.#plan.requests) {
      const index = this.#next;
      this.#next += 1;
      const body = this.#bodies.take(index);
      let answer = await this.#send(connection, index, body);
      const retried = answer.staleSocket && this.#isRunning();
      if (retried) answer = await this.#send(connection, index, body);
      this.#add(toRecord(index, freeAtMs, answer, this.#plan.outputTokens, retried));
      freeAtMs = answer.endedAtMs;
    }
  }

  #isRunning(): boolean {
    return this.#end === undefined;
  }

  async #send(connection: Connection, index: number, body: Buffer): Promise<Answer> {
    const request = sendRequest(connection, {
      path: this.#path,
      headers: requestHeaders(this.#plan.apiKey),
      body,
      reader: answerReaders[this.#plan.api](),
      nowMs: () => this.nowMs(),
      onActivity: (atMs) => {
        this.#lastByteAtMs = atMs;
      },
    });
    this.#inFlight.set(index, request);
    this.#bodies.prepareNext();
    const answer = await request.answer;
    this.#inFlight.delete(index);
    return answer;
  }

  #add(record: RequestRecord): void {
    this.#records.push(record);
    if (record.outcome === 'failed') this.#failed += 1;
    if (record.outcome === 'completed') this.#outputTokens += record.outputTokens;
    const ended = this.#records.length;
    this.#deps.onProgress?.({
      ended,
      failed: this.#failed,
      total: this.#plan.requests,
      outputTokens: this.#outputTokens,
    });
    const tooMany = this.#failed / ended > this.#plan.maxFailureFraction;
    if (ended >= MIN_ENDED_FOR_SHARE && ended < this.#plan.requests && tooMany) {
      this.end('failures');
    }
  }
}

function toRecord(
  index: number,
  intendedAtMs: number,
  answer: Answer,
  requestedOutputTokens: number,
  retried: boolean,
): RequestRecord {
  const { facts, outcome, sentAtMs, endedAtMs, error } = answer;
  const [firstTokenAtMs, lastTokenAtMs] = [facts.chunkAtMs[0], facts.chunkAtMs.at(-1)];
  return {
    index,
    intendedAtMs,
    sentAtMs,
    ...(firstTokenAtMs === undefined ? {} : { firstTokenAtMs }),
    ...(lastTokenAtMs === undefined ? {} : { lastTokenAtMs }),
    endedAtMs,
    ...facts,
    requestedOutputTokens,
    outcome,
    ...(error === undefined ? {} : { error }),
    ...(retried ? { retried: true } : {}),
  };
}
