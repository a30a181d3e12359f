import type { Counters, IntervalState } from './counters.ts';
import type { DecodeFacts, Engine, EngineObserver, PrefillFacts } from './engine.ts';
import type { Launch } from './launch.ts';
import type { ServerLog } from './log.ts';
import type { Capacity } from './memory-model.ts';
import type { PerformanceSettings } from './performance-model.ts';
import { numberOf } from './resolution.ts';

/** Shares of the KV pool and of the state slots in use. */
export interface PoolUsage {
  readonly full: number;
  readonly mamba: number;
  readonly mambaSlots: number;
}

/** Pool usage of an engine; every running request holds its share of the state slots. */
export function poolUsage(engine: Engine, capacity: Capacity): PoolUsage {
  const perRequest = Math.floor(capacity.maxMambaCacheSize / capacity.maxRunningRequests);
  const mambaSlots = engine.active * perRequest;
  return {
    full: engine.usedTokens / capacity.maxTotalTokens,
    mamba: mambaSlots / capacity.maxMambaCacheSize,
    mambaSlots,
  };
}

/** What the reporter reads from the server it reports on, and where it counts. */
interface ReportedServer {
  readonly launch: Launch;
  readonly settings: PerformanceSettings;
  readonly capacity: Capacity;
  readonly log: ServerLog;
  readonly counters: Counters;
  readonly interval: IntervalState;
  readonly engine: Engine;
  readonly waiting: number;
}

/** Logs and counts batches as SGLang does: each prefill, and every 40th decode step. */
export class BatchReporter implements EngineObserver {
  readonly #server: ReportedServer;
  #since = { steps: 0, tokens: 0, ms: 0, verifies: 0 };

  constructor(server: ReportedServer) {
    this.#server = server;
  }

  prefill({ requests, newTokens, cachedTokens, ms }: PrefillFacts): void {
    const { counters, engine, capacity, log, waiting } = this.#server;
    counters.prefillPasses += 1;
    counters.prefillComputeTokens += newTokens;
    counters.prefillCacheTokens += cachedTokens;
    const usage = poolUsage(engine, capacity);
    log.line(
      `Prefill batch, #new-seq: ${requests}, #new-token: ${newTokens}, #cached-token: ${cachedTokens}, full token usage: ${usage.full.toFixed(2)}, mamba usage: ${usage.mamba.toFixed(2)}, #running-req: ${engine.running.length}, #queue-req: ${waiting}, #pending-token: 0, cuda graph: False, input throughput (token/s): ${((newTokens * 1000) / ms).toFixed(2)}`,
    );
  }

  decode(facts: DecodeFacts): void {
    const { counters, launch } = this.#server;
    counters.decodeTokens += facts.tokens;
    if (facts.graph) counters.decodeGraphPasses += 1;
    else counters.decodeEagerPasses += 1;
    const since = this.#since;
    since.steps += 1;
    since.tokens += facts.tokens;
    since.ms += facts.ms;
    since.verifies += facts.batch;
    if (since.steps < (numberOf(launch.fields, 'decode_log_interval') ?? 40)) return;
    this.#logDecode(facts);
    this.#since = { steps: 0, tokens: 0, ms: 0, verifies: 0 };
  }

  retract(requests: number): void {
    const { counters, log } = this.#server;
    counters.retractedRequests += requests;
    log.line(
      `KV cache pool is full. Retract requests. #retracted_reqs: ${requests}, #new_tokens_gained: ${requests * 512}, #mamba_num_gained: ${requests}, #new_token_ratio: 0.6000 -> 0.8000`,
    );
  }

  #logDecode({ batch, graph }: DecodeFacts): void {
    const { settings, interval, engine, capacity, log, waiting } = this.#server;
    const { tokens, ms, verifies } = this.#since;
    interval.generationThroughput = (tokens * 1000) / ms;
    interval.runningRequests = batch;
    let accept = '';
    if (settings.speculation !== undefined) {
      const proposed = verifies * Math.max(1, settings.speculation.draftTokens - 1);
      interval.acceptLength = tokens / verifies;
      interval.acceptRate = (tokens - verifies) / proposed;
      accept = `accept len: ${interval.acceptLength.toFixed(2)}, accept rate: ${interval.acceptRate.toFixed(2)}, `;
    }
    const usage = poolUsage(engine, capacity);
    log.line(
      `Decode batch, #running-req: ${batch}, #full token: ${engine.usedTokens}, full token usage: ${usage.full.toFixed(2)}, mamba num: ${usage.mambaSlots}, mamba usage: ${usage.mamba.toFixed(2)}, ${accept}cuda graph: ${graph ? 'True' : 'False'}, gen throughput (token/s): ${interval.generationThroughput.toFixed(2)}, #queue-req: ${waiting}`,
    );
  }
}
