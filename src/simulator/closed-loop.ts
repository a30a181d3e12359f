import { Engine, type EngineOptions } from './engine.ts';
import { EngineRequest } from './engine-request.ts';
import {
  decodeStepMs,
  expectedAcceptLength,
  type PerformanceSettings,
  prefillMs,
} from './performance-model.ts';
import type { PromptKind, PromptTokens } from './prompt.ts';
import { mix } from './random.ts';

/** One closed loop against a server with these settings, in simulated time alone. */
export interface ClosedLoop {
  readonly concurrency: number;
  readonly requests: number;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  /** Prompt of request `index`. */
  readonly prompt: (index: number) => PromptTokens;
  /** Client and HTTP time before a request reaches the scheduler, ms. */
  readonly sendMs: number;
}

export interface ClosedLoopResult {
  /** Output tokens / (last end - first send). */
  readonly tokensPerSecond: number;
  /** Mean over requests of (tokens - 1) / (last token - first token). */
  readonly perRequestTokensPerSecond: number;
  readonly outputTokens: number;
  readonly seconds: number;
}

/** Runs the closed loop on the simulated scheduler, without a server: exact, in milliseconds of CPU. */
export function simulateClosedLoop(loop: ClosedLoop, options: EngineOptions): ClosedLoopResult {
  const engine = new Engine(options);
  const ended: EngineRequest[] = [];
  const arrivals: { atMs: number; request: EngineRequest }[] = [];
  let sent = 0;
  const send = (nowMs: number): void => {
    if (sent >= loop.requests) return;
    const request = new EngineRequest(
      `r${sent}`,
      loop.prompt(sent),
      loop.outputTokens,
      loop.ignoreEos,
      (progressed) => {
        if (progressed.finish === undefined) return;
        ended.push(progressed);
        send(progressed.lastTokenAtMs ?? nowMs);
      },
    );
    // The n-th of a burst is parsed after those before it.
    const burst = nowMs === 0 ? sent * 0.3 : 0;
    sent += 1;
    arrivals.push({ atMs: nowMs + loop.sendMs + burst, request });
  };
  for (let i = 0; i < loop.concurrency; i += 1) send(0);
  while (ended.length < loop.requests) {
    const arrival = arrivals[0];
    const event = engine.nextEventMs;
    if (arrival !== undefined && (event === undefined || arrival.atMs <= event)) {
      arrivals.shift();
      engine.submit(arrival.request, arrival.atMs);
    } else if (event !== undefined) engine.advance(event);
    else throw new Error('the simulated closed loop stands still');
  }
  return summarize(ended);
}

function summarize(ended: readonly EngineRequest[]): ClosedLoopResult {
  const outputTokens = ended.reduce((sum, request) => sum + request.outputTokens, 0);
  const seconds = Math.max(...ended.map((request) => request.lastTokenAtMs ?? 0)) / 1000;
  const speeds = ended.map(
    ({ outputTokens: tokens, firstTokenAtMs = 0, lastTokenAtMs = 0 }) =>
      ((tokens - 1) * 1000) / (lastTokenAtMs - firstTokenAtMs),
  );
  return {
    outputTokens,
    seconds,
    tokensPerSecond: outputTokens / seconds,
    perRequestTokensPerSecond: speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length,
  };
}

/**
 * Expected output tokens per second in the steady state of a closed loop, by formula: what is
 * decoding shares each cycle with the prefills that keep it full. Cheap enough for millions of
 * calls; ignores ramp, drain and noise.
 */
export function expectedTokensPerSecond(
  settings: PerformanceSettings,
  concurrency: number,
  kind: PromptKind,
  {
    inputTokens,
    outputTokens,
    cachedFraction,
  }: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedFraction: number;
  },
): number {
  const batch = Math.min(concurrency, settings.runningLimit);
  const accept = expectedAcceptLength(kind, settings.speculation);
  const held = batch * (inputTokens + outputTokens / 2);
  const cycles = outputTokens / accept;
  const decodeMs = cycles * decodeStepMs(settings, batch, held);
  const prefill = prefillMs(settings, 1, inputTokens * (1 - cachedFraction));
  // While one request decodes its answer, each of the batch is replaced once.
  return (batch * outputTokens * 1000) / (decodeMs + batch * prefill);
}

/** The prompt of the reference benchmark: one token id, 1000 times. */
export function referencePrompt(tokenId = 23_066, tokens = 1000): PromptTokens {
  return {
    ids: new Array<number>(tokens).fill(tokenId),
    kind: 'repeated',
    hash: mix(tokenId, tokens),
  };
}
