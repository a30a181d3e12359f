import type { Clock } from '../clock.ts';
import type { RequestError, RequestRecord } from '../metrics/request-record.ts';
import { percentile } from '../metrics/statistics.ts';
import { abortRequests } from './abort-requests.ts';
import { answerReaders } from './answer-reader.ts';
import type { BodyQueue } from './body-queue.ts';
import type { Connection } from './connection.ts';
import type { LoadPlan, LoadProgress, LoadRun, LoadRunEnd } from './load-run.ts';
import { apiPaths } from './request-body.ts';
import { type RunState, watchLimits } from './run-limits.ts';
import { startSelfCheck } from './self-check.ts';
import { type Answer, type InFlight, sendRequest } from './send-request.ts';
import { requestHeaders, serverAddress } from './server-url.ts';

/** Failures below this many ended requests are no share yet. */
const MIN_ENDED_FOR_SHARE = 10;

export interface LoadRunDeps {
  readonly clock: Clock;
  /** Ends the run as `interrupted`, keeping what was measured. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** Sends the requests of a run, in the order of whoever drives it, and keeps its limits. */
export class RunInProgress implements RunState {
  readonly plan: LoadPlan;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #bodies: BodyQueue;
  readonly #deps: LoadRunDeps;
  readonly #records: RequestRecord[] = [];
  readonly #inFlight = new Map<number, InFlight>();
  /** Requests that we cut off: the server may still be working on them. */
  readonly #cancelled: string[] = [];
  readonly #ended = new AbortController();
  #startMs = 0;
  #failed = 0;
  #outputTokens = 0;
  #peakInFlight = 0;
  #lastByteAtMs = 0;
  #end: LoadRunEnd | undefined;

  constructor(plan: LoadPlan, bodies: BodyQueue, deps: LoadRunDeps) {
    this.plan = plan;
    this.#path = serverAddress(plan.baseUrl).path + apiPaths[plan.api];
    this.#headers = requestHeaders(plan.apiKey);
    this.#bodies = bodies;
    this.#deps = deps;
  }

  /** Starts the clock, lets `drive` send, and returns what was measured once it is done. */
  async run(drive: (run: RunInProgress) => Promise<void>): Promise<LoadRun> {
    const { signal, clock } = this.#deps;
    const stop = new AbortController();
    const interrupt = (): void => {
      this.end('interrupted');
    };
    signal?.addEventListener('abort', interrupt, { once: true });
    if (signal?.aborted === true) interrupt();

    const finishSelfCheck = startSelfCheck();
    this.#startMs = clock.nowMs();
    const watching = watchLimits(this.plan, this, clock, stop.signal);
    await drive(this);
    const durationMs = this.nowMs();
    const watched = finishSelfCheck();
    stop.abort();
    signal?.removeEventListener('abort', interrupt);
    await watching;
    if (this.plan.api === 'native') await abortRequests(this.plan, this.#cancelled);

    const records = this.#records.toSorted((a, b) => a.index - b.index);
    const lags = records.map(({ sentAtMs, intendedAtMs }) => sentAtMs - intendedAtMs);
    const selfCheck = {
      ...watched,
      dispatchLagP99Ms: (percentile(lags, 99) ?? 0) / this.plan.timeScale,
      peakInFlight: this.#peakInFlight,
    };
    return { records, end: this.#end ?? 'completed', durationMs, selfCheck };
  }

  /** False once a limit or an interrupt has ended the run: nothing more is sent. */
  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /** The server's time since the start of the run, ms. */
  nowMs(): number {
    return (this.#deps.clock.nowMs() - this.#startMs) * this.plan.timeScale;
  }

  /** Waits until this moment of the run, or its end. */
  async waitUntil(atMs: number): Promise<void> {
    // Node's timers count whole ms and may fire one too early.
    for (;;) {
      const waitMs = (atMs - this.nowMs()) / this.plan.timeScale;
      if (waitMs <= 0 || !this.isRunning) return;
      await this.#deps.clock.sleep(waitMs, this.#ended.signal).catch((error: unknown) => {
        if (this.isRunning) throw error;
      });
    }
  }

  lastByteAtMs(): number {
    return this.#lastByteAtMs;
  }

  inFlight(): number {
    return this.#inFlight.size;
  }

  tokensSoFar(): number {
    let tokens = this.#outputTokens;
    for (const request of this.#inFlight.values()) tokens += request.tokensSoFar();
    return tokens;
  }

  expireRequests(sentBeforeMs: number): void {
    const seconds = this.plan.requestTimeoutMs / 1000;
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
    this.#ended.abort();
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

  /** Sends request `index` and keeps its record; resolves with the moment it ended. */
  async perform(connection: Connection, index: number, intendedAtMs: number): Promise<number> {
    const body = this.#bodies.take(index);
    let answer = await this.#send(connection, index, body);
    const retried = answer.staleSocket && this.isRunning;
    if (retried) answer = await this.#send(connection, index, body);
    this.#add(toRecord(index, intendedAtMs, answer, this.plan.outputTokens, retried));
    return answer.endedAtMs;
  }

  async #send(connection: Connection, index: number, body: Buffer): Promise<Answer> {
    const request = sendRequest(connection, {
      path: this.#path,
      headers: this.#headers,
      body,
      reader: answerReaders[this.plan.api](),
      nowMs: () => this.nowMs(),
      onActivity: (atMs) => {
        this.#lastByteAtMs = atMs;
      },
    });
    this.#inFlight.set(index, request);
    this.#peakInFlight = Math.max(this.#peakInFlight, this.#inFlight.size);
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
      total: this.plan.requests,
      outputTokens: this.#outputTokens,
    });
    const tooMany = this.#failed / ended > this.plan.maxFailureFraction;
    if (ended >= MIN_ENDED_FOR_SHARE && ended < this.plan.requests && tooMany) {
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
