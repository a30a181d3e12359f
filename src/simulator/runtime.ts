import { randomUUID } from 'node:crypto';
import { BatchReporter, type PoolUsage, poolUsage } from './batch-reporter.ts';
import { Counters, type IntervalState } from './counters.ts';
import { Engine } from './engine.ts';
import { EngineRequest } from './engine-request.ts';
import { Faults, type ServerFault, type StreamFault, slowdown } from './faults.ts';
import type { Launch } from './launch.ts';
import type { ServerLog } from './log.ts';
import type { Capacity } from './memory-model.ts';
import type { PerformanceSettings } from './performance-model.ts';
import type { PromptTokens } from './prompt.ts';
import { numberOf } from './resolution.ts';
import type { SimClock } from './sim-clock.ts';

/** Time a request spends in HTTP, tokenizer and detokenizer before its first token can leave, ms. */
const FRONTEND_MS = 85;
/** Shortest time between two rounds of events, wall ms: what piles up is sent as one chunk. */
const QUIET_ROUND_MS = 1;
const BUSY_ROUND_MS = 2;
const BUSY_REQUESTS = 8;

/** Longest wall time between an answer and the next request that counts as the client's own work. */
const CLIENT_GAP_MS = 50;
/** Id of the server's own health probes; they are not counted. */
const PROBE_ID = 'HEALTH_CHECK';

/** End of an answer: the simulated moment of its last token, and the wall clock when it was sent. */
export interface AnswerEnd {
  readonly simulatedMs: number;
  readonly wallMs: number;
}

export interface Submission {
  readonly prompt: PromptTokens;
  readonly maxNewTokens: number;
  readonly ignoreEos: boolean;
  readonly id?: string | undefined;
  /** When the answer before it on the same connection ended. */
  readonly previous?: AnswerEnd | undefined;
  /** Called at most once per round when there is something new to send. */
  readonly onNews: (request: EngineRequest) => void;
}

export interface Accepted {
  readonly request: EngineRequest;
  readonly fault: StreamFault | undefined;
}

/** Engine, clock and counters of one running server: everything behind the HTTP routes. */
export class Runtime {
  readonly counters = new Counters();
  readonly interval: IntervalState = {
    generationThroughput: 0,
    acceptLength: undefined,
    acceptRate: undefined,
    runningRequests: 0,
  };
  readonly engine: Engine;
  readonly faults: Faults;
  readonly live = new Set<EngineRequest>();
  onServerFault: (fault: ServerFault | 'oom') => void = () => undefined;
  #frozen = false;
  #cancelRound: (() => void) | undefined;
  readonly #fresh = new Set<EngineRequest>();
  readonly #arrivals: EngineRequest[] = [];
  readonly #onNews = new Map<EngineRequest, (request: EngineRequest) => void>();

  readonly launch: Launch;
  readonly capacity: Capacity;
  readonly settings: PerformanceSettings;
  readonly clock: SimClock;
  readonly log: ServerLog;

  constructor(
    launch: Launch,
    capacity: Capacity,
    settings: PerformanceSettings,
    clock: SimClock,
    log: ServerLog,
  ) {
    this.launch = launch;
    this.capacity = capacity;
    this.settings = settings;
    this.clock = clock;
    this.log = log;
    const { switches, seed, launchFactor } = launch;
    this.faults = new Faults(switches, seed);
    this.engine = new Engine(
      {
        settings,
        seed,
        launchFactor,
        stepNoiseFraction: switches.requestNoiseFraction,
        slowdownAt: (nowMs) => slowdown(switches, nowMs),
        radixCache: launch.fields['disable_radix_cache'] !== true,
      },
      new BatchReporter(this),
    );
  }

  /** Requests waiting or running, those on their way to the scheduler included. */
  get inFlight(): number {
    return this.live.size;
  }

  get waiting(): number {
    return this.engine.waiting.length + this.#arrivals.length;
  }

  /** True when the waiting queue holds `--max-queued-requests`. */
  get queueFull(): boolean {
    const limit = numberOf(this.launch.fields, 'max_queued_requests');
    return (
      limit !== undefined &&
      this.engine.inFlight >= this.settings.runningLimit &&
      this.engine.waiting.length >= limit
    );
  }

  /** Takes a request in; undefined when the server refuses it (queue full, or by a switch). */
  submit(submission: Submission): Accepted | undefined {
    this.#advance(this.clock.nowMs());
    const { server, refuse, stream } = this.faults.onArrival(submission.maxNewTokens);
    if (server === 'hang') this.freeze();
    else if (server !== undefined) this.onServerFault(server);
    if (refuse || this.queueFull) return undefined;
    this.counters.requests += 1;
    return { request: this.#enqueue(submission), fault: stream };
  }

  #enqueue(submission: Submission): EngineRequest {
    const request = new EngineRequest(
      submission.id ?? randomUUID().replaceAll('-', ''),
      submission.prompt,
      submission.maxNewTokens,
      submission.ignoreEos,
      (progressed) => {
        this.#fresh.add(progressed);
      },
    );
    request.arrivedAtMs = this.#arrivalMs(submission.previous);
    this.live.add(request);
    this.#onNews.set(request, submission.onNews);
    const later = this.#arrivals.findIndex((other) => other.arrivedAtMs > request.arrivedAtMs);
    this.#arrivals.splice(later < 0 ? this.#arrivals.length : later, 0, request);
    this.#schedule();
    return request;
  }

  /** A one-token request of the server itself; it counts neither as a request nor for the switches. */
  submitProbe(prompt: PromptTokens, onToken: () => void): EngineRequest {
    return this.#enqueue({
      prompt,
      maxNewTokens: 1,
      ignoreEos: true,
      id: PROBE_ID,
      onNews: onToken,
    });
  }

  /**
   * Simulated moment a request counts as received. Client and sockets run on the wall clock: what
   * they need between two requests is not multiplied by the speed, or a fast clock would show idle
   * gaps that no real server has.
   */
  #arrivalMs(previous: AnswerEnd | undefined): number {
    const nowMs = this.clock.nowMs();
    if (previous === undefined) return nowMs;
    const gapMs = performance.now() - previous.wallMs;
    return gapMs > CLIENT_GAP_MS ? nowMs : Math.min(nowMs, previous.simulatedMs + gapMs);
  }

  /** Ends a request early, e.g. because its client went away. */
  abort(request: EngineRequest, message = 'Aborted'): void {
    const at = this.#arrivals.indexOf(request);
    if (at >= 0) this.#arrivals.splice(at, 1);
    if (request.finish === undefined) this.counters.abortedRequests += 1;
    this.engine.abort(request, message);
    this.#round();
  }

  /** Stops all progress: streams stay open and silent. */
  freeze(): void {
    this.#frozen = true;
    this.#cancelRound?.();
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Empties the prefix cache and resets the interval figures; false unless idle. */
  flush(): boolean {
    this.#advance(this.clock.nowMs());
    if (this.inFlight > 0) {
      this.log.line(
        `Cache not flushed because there are pending requests. #queue-req: ${this.waiting}, #running-req: ${this.engine.active}`,
      );
      return false;
    }
    this.engine.flush();
    this.interval.acceptLength = undefined;
    this.interval.acceptRate = undefined;
    this.log.line('Cache flushed successfully!');
    return true;
  }

  /** Runs the engine up to now and hands out what is new. */
  #round(): void {
    if (this.#frozen) return;
    this.#advance(this.clock.nowMs());
    for (const request of this.#fresh) this.#tell(request);
    this.#fresh.clear();
    if (this.faults.outOfMemory(this.engine.running.length)) this.onServerFault('oom');
    this.#schedule();
  }

  #tell(request: EngineRequest): void {
    const onNews = this.#onNews.get(request);
    if (request.finish !== undefined && this.live.delete(request)) {
      this.#onNews.delete(request);
      this.#countEnd(request);
    }
    onNews?.(request);
  }

  #advance(toMs: number): void {
    if (this.#frozen) return;
    for (;;) {
      const arrival = this.#arrivals[0];
      const dueMs = (arrival?.arrivedAtMs ?? Infinity) + FRONTEND_MS;
      if (arrival === undefined || dueMs > toMs) break;
      this.#arrivals.shift();
      this.engine.advance(dueMs);
      const receivedAtMs = arrival.arrivedAtMs;
      this.engine.submit(arrival, dueMs);
      arrival.arrivedAtMs = receivedAtMs;
    }
    this.engine.advance(toMs);
  }

  #schedule(): void {
    if (this.#frozen) return;
    this.#cancelRound?.();
    const arrival = this.#arrivals[0];
    const arrivalMs = arrival === undefined ? Infinity : arrival.arrivedAtMs + FRONTEND_MS;
    const nextMs = Math.min(this.engine.nextEventMs ?? Infinity, arrivalMs);
    if (nextMs === Infinity && this.#fresh.size === 0) return;
    const least =
      (this.live.size > BUSY_REQUESTS ? BUSY_ROUND_MS : QUIET_ROUND_MS) * this.clock.speed;
    const wait =
      this.clock.speed > 1
        ? Math.max(least, nextMs - this.clock.nowMs())
        : nextMs - this.clock.nowMs();
    this.#cancelRound = this.clock.after(Math.max(0, wait), () => {
      this.#round();
    });
  }

  #countEnd(request: EngineRequest): void {
    if (request.id === PROBE_ID) return;
    const { counters } = this;
    counters.promptTokens += request.promptTokens;
    counters.generationTokens += request.outputTokens;
    counters.cachedTokens += request.cachedTokens;
    counters.verifyCalls += request.verifyCount;
    const { arrivedAtMs, scheduledAtMs, firstTokenAtMs, lastTokenAtMs } = request;
    if (scheduledAtMs === undefined || firstTokenAtMs === undefined) return;
    counters.queueSeconds.add((scheduledAtMs - arrivedAtMs) / 1000);
    counters.ttftSeconds.add((firstTokenAtMs - arrivedAtMs) / 1000);
    counters.e2eSeconds.add(((lastTokenAtMs ?? firstTokenAtMs) - arrivedAtMs) / 1000);
  }

  /** Shares of the KV pool and of the state slots in use. */
  usage(): PoolUsage {
    return poolUsage(this.engine, this.capacity);
  }
}
