import { naturalEnd } from './answer.ts';
import { END_TOKEN, EngineRequest, type FinishReason } from './engine-request.ts';
import {
  acceptChance,
  decodeStepMs,
  type PerformanceSettings,
  prefillMs,
} from './performance-model.ts';
import { PrefixCache } from './prefix-cache.ts';
import { createRandom, type Random } from './random.ts';

export interface EngineOptions {
  readonly settings: PerformanceSettings;
  readonly seed: number;
  /** Factor of every step in this launch, 1 = as fitted. */
  readonly launchFactor: number;
  /** Standard deviation of a step's time, as a fraction. */
  readonly stepNoiseFraction: number;
  /** Further slowdown by simulated time (drift, a noisy neighbour); 1 = none. */
  readonly slowdownAt: (nowMs: number) => number;
  readonly radixCache: boolean;
}

export interface PrefillFacts {
  readonly requests: number;
  readonly newTokens: number;
  readonly cachedTokens: number;
  readonly ms: number;
}

export interface DecodeFacts {
  readonly batch: number;
  readonly tokens: number;
  readonly ms: number;
  /** False for an eager step: the batch is above the largest captured graph. */
  readonly graph: boolean;
}

/** Called after each step with what it was; for logs and counters. */
export interface EngineObserver {
  prefill?(facts: PrefillFacts): void;
  decode?(facts: DecodeFacts): void;
  retract?(requests: number): void;
}

type Step =
  | {
      readonly kind: 'prefill';
      readonly batch: readonly EngineRequest[];
      readonly endMs: number;
      readonly ms: number;
      readonly newTokens: number;
      readonly cachedTokens: number;
    }
  | { readonly kind: 'decode'; readonly endMs: number; readonly ms: number };

/** Hybrid models keep a state every so many prompt tokens; prefixes match in such blocks. */
const STATE_BLOCK_TOKENS = 64;
/** Waiting requests whose matched prefix pins one state slot, and how many slots at most. */
const WAITING_PER_PINNED_SLOT = 9.5;
const MAX_PINNED_SLOTS = 4;
/** Answers to repeated tokens depend on their batch, which has filled up by this share of the length. */
const DECIDED_AT_SHARE = 0.2;
/** Share of an answer's allowed length that admission reserves room for. */
const RESERVED_SHARE = 0.7;

/**
 * The scheduler: continuous batching in simulated time. Pure: it knows no clock, it is told how far
 * time has come. Prefill goes before decode, first come first served, as many as the limit allows.
 */
export class Engine {
  readonly waiting: EngineRequest[] = [];
  running: EngineRequest[] = [];
  readonly #options: EngineOptions;
  readonly #observer: EngineObserver;
  readonly #random: Random;
  readonly #cache: PrefixCache;
  #step: Step | undefined;
  #nowMs = 0;
  #answers = 0;

  constructor(options: EngineOptions, observer: EngineObserver = {}) {
    this.#options = options;
    this.#observer = observer;
    this.#random = createRandom(options.seed);
    this.#cache = new PrefixCache(STATE_BLOCK_TOKENS, options.settings.maxTotalTokens);
  }

  /** End of the step in progress; undefined when idle. */
  get nextEventMs(): number | undefined {
    return this.#step?.endMs;
  }

  get idle(): boolean {
    return this.#step === undefined && this.waiting.length === 0 && this.running.length === 0;
  }

  get inFlight(): number {
    return this.waiting.length + this.running.length + this.#prefilling;
  }

  /** Requests that hold a slot: decoding or in prefill. */
  get active(): number {
    return this.running.length + this.#prefilling;
  }

  get #prefilling(): number {
    return this.#step?.kind === 'prefill' ? this.#step.batch.length : 0;
  }

  get usedTokens(): number {
    return this.running.reduce((sum, request) => sum + request.heldTokens, 0);
  }

  /** Adds a request at `nowMs`; call {@link advance} up to that moment first. */
  submit(request: EngineRequest, nowMs: number): void {
    request.arrivedAtMs = nowMs;
    this.waiting.push(request);
    if (this.#step === undefined) {
      this.#nowMs = Math.max(this.#nowMs, nowMs);
      this.#startStep();
    }
  }

  /** Ends a request that has not ended; it gets no further progress calls but this one. */
  abort(request: EngineRequest, message: string): void {
    if (request.finish !== undefined) return;
    request.finish = { type: 'abort', message };
    const at = this.waiting.indexOf(request);
    if (at >= 0) this.waiting.splice(at, 1);
    this.running = this.running.filter((other) => other !== request);
    request.onProgress(request);
  }

  /** Runs every step that ends at or before `toMs`. */
  advance(toMs: number): void {
    while (this.#step !== undefined && this.#step.endMs <= toMs) {
      const step = this.#step;
      this.#nowMs = step.endMs;
      this.#step = undefined;
      if (step.kind === 'prefill') this.#endPrefill(step);
      else this.#endDecode(step);
      this.#startStep();
    }
  }

  /** Empties the prefix cache; only meaningful when idle. */
  flush(): void {
    this.#cache.clear();
  }

  get cachedTokens(): number {
    return this.#cache.tokens;
  }

  /** Running limit now: a long queue pins state slots, when those are what bounds it. */
  get #limitNow(): number {
    const { runningLimit, requestedLimit } = this.#options.settings;
    if (requestedLimit <= runningLimit || runningLimit < 12) return runningLimit;
    const pinned = Math.floor(this.waiting.length / WAITING_PER_PINNED_SLOT);
    return runningLimit - Math.min(MAX_PINNED_SLOTS, pinned);
  }

  #stepMs(modelMs: number): number {
    const { launchFactor, stepNoiseFraction, slowdownAt } = this.#options;
    const noise = Math.max(0.5, 1 + stepNoiseFraction * this.#random.normal());
    return modelMs * launchFactor * noise * slowdownAt(this.#nowMs);
  }

  #startStep(): void {
    const admitted = this.#admit();
    if (admitted.batch.length > 0) {
      const { settings } = this.#options;
      const ms = this.#stepMs(prefillMs(settings, admitted.batch.length, admitted.newTokens));
      this.#step = { kind: 'prefill', ...admitted, ms, endMs: this.#nowMs + ms };
      return;
    }
    if (this.running.length === 0) return;
    this.#retractIfFull();
    const ms = this.#stepMs(
      decodeStepMs(this.#options.settings, this.running.length, this.usedTokens),
    );
    this.#step = { kind: 'decode', ms, endMs: this.#nowMs + ms };
  }

  /** Takes from the queue what the limit, the KV pool and one prefill batch hold. */
  #admit(): { batch: EngineRequest[]; newTokens: number; cachedTokens: number } {
    const { chunkedPrefillTokens, maxPrefillTokens, maxTotalTokens } = this.#options.settings;
    const batch: EngineRequest[] = [];
    let newTokens = 0;
    let cachedTokens = 0;
    const limit = this.#limitNow;
    let held = this.usedTokens;
    while (this.running.length + batch.length < limit) {
      const next = this.waiting[0];
      if (next === undefined) break;
      const reserved = next.heldTokens + (next.maxNewTokens - next.outputTokens) * RESERVED_SHARE;
      const alone = this.running.length + batch.length === 0;
      if (!alone && held + reserved > maxTotalTokens) break;
      if (newTokens >= Math.min(chunkedPrefillTokens, maxPrefillTokens)) break;
      this.waiting.shift();
      const cached = this.#options.radixCache ? this.#cache.matchAndInsert(next.prompt.ids) : 0;
      if (next.scheduledAtMs === undefined) next.cachedTokens = cached;
      next.scheduledAtMs = this.#nowMs;
      held += reserved;
      newTokens += next.heldTokens - cached;
      cachedTokens += cached;
      batch.push(next);
    }
    return { batch, newTokens, cachedTokens };
  }

  /** When the KV pool is full, the youngest requests go back to the queue and start over. */
  #retractIfFull(): void {
    const { maxTotalTokens } = this.#options.settings;
    let retracted = 0;
    while (this.running.length > 1 && this.usedTokens + this.running.length * 8 > maxTotalTokens) {
      const last = this.running.pop();
      if (last === undefined) break;
      last.retractions += 1;
      this.waiting.unshift(last);
      retracted += 1;
    }
    if (retracted > 0) this.#observer.retract?.(retracted);
  }

  #endPrefill({ batch, ms, newTokens, cachedTokens }: Extract<Step, { kind: 'prefill' }>): void {
    this.#observer.prefill?.({ requests: batch.length, newTokens, cachedTokens, ms });
    for (const request of batch) {
      if (request.finish !== undefined) continue;
      this.running.push(request);
      if (request.outputTokens === 0) this.#give(request, 1);
    }
    this.#dropEnded();
  }

  #endDecode({ ms }: Extract<Step, { kind: 'decode' }>): void {
    const { settings } = this.#options;
    const batch = this.running.length;
    const inFlight = this.inFlight;
    let tokens = 0;
    for (const request of this.running) {
      request.peakInFlight = Math.max(request.peakInFlight, inFlight);
      request.endsAtTokens ??= this.#naturalEnd(request);
      const before = request.outputTokens;
      this.#give(request, 1 + this.#acceptedDrafts(request));
      tokens += request.outputTokens - before;
    }
    this.#observer.decode?.({ batch, tokens, ms, graph: batch <= settings.graphMaxBatch });
    this.#dropEnded();
  }

  /** Where the answer ends by itself; undefined while it is too early to tell. */
  #naturalEnd(request: EngineRequest): number | undefined {
    if (request.ignoreEos) return Infinity;
    const { kind, hash } = request.prompt;
    const early = request.outputTokens < request.maxNewTokens * DECIDED_AT_SHARE;
    if (kind === 'repeated' && early) return undefined;
    const sequence = { index: this.#answers, seed: this.#options.seed };
    // Short warm-up answers do not count, so that a measured run begins at an even place.
    if (request.maxNewTokens >= 64) this.#answers += 1;
    return naturalEnd(kind, hash, request.maxNewTokens, request.peakInFlight, sequence);
  }

  /** Draft tokens the target accepts in one verify step; counts the verify. */
  #acceptedDrafts(request: EngineRequest): number {
    const { speculation } = this.#options.settings;
    if (speculation === undefined) return 0;
    request.verifyCount += 1;
    let accepted = 0;
    while (
      accepted < speculation.steps &&
      this.#random.next() < acceptChance(request.prompt.kind, accepted + 1, speculation)
    ) {
      accepted += 1;
    }
    request.acceptedHistogram[accepted] = (request.acceptedHistogram[accepted] ?? 0) + 1;
    return accepted;
  }

  #give(request: EngineRequest, tokens: number): void {
    const end = Math.min(request.maxNewTokens, request.endsAtTokens ?? Infinity);
    request.outputTokens = Math.min(end, request.outputTokens + tokens);
    request.firstTokenAtMs ??= this.#nowMs;
    request.lastTokenAtMs = this.#nowMs;
    if (request.outputTokens >= end) request.finish = finishReason(request);
    request.onProgress(request);
  }

  #dropEnded(): void {
    this.running = this.running.filter((request) => request.finish === undefined);
  }
}

function finishReason({ outputTokens, maxNewTokens }: EngineRequest): FinishReason {
  return outputTokens >= maxNewTokens
    ? { type: 'length', length: outputTokens }
    : { type: 'stop', matched: END_TOKEN };
}
