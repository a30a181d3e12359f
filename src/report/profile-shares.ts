/** One look at a server: how many requests it had, and for how long that held. */
export interface LoadSample {
  /** Requests that were being answered. */
  readonly running: number;
  /** Requests that waited in the server. */
  readonly queued: number;
  readonly seconds: number;
}

/** What production's own data says of its load. */
export interface ObservedLoad {
  /** Serving seconds by requests in flight (running and queued), ascending; idle time left out. */
  readonly secondsByConcurrency: ReadonlyMap<number, number>;
  readonly busySeconds: number;
  readonly idleSeconds: number;
  /** Seconds in which requests waited in the server. */
  readonly queuedSeconds: number;
  readonly samples: number;
  /** From the first to the last sample, as the data spells moments; null where it has none. */
  readonly period: readonly [string, string] | null;
  /** Requests that arrived in it; null where the data does not say. */
  readonly requests: number | null;
  readonly meanInputTokens: number | null;
  readonly meanOutputTokens: number | null;
}

export type CountWhat = 'in-flight' | 'running';

/** Adds up samples in memory that does not grow with their number. */
export class LoadShares {
  readonly #seconds = new Map<number, number>();
  readonly #what: CountWhat;
  #idleSeconds = 0;
  #queuedSeconds = 0;
  #samples = 0;

  /** @param what `in-flight` counts requests that wait in the server's queue as well. */
  constructor(what: CountWhat = 'in-flight') {
    this.#what = what;
  }

  add({ running, queued, seconds }: LoadSample): void {
    this.#samples += 1;
    const concurrency = this.#what === 'running' ? running : running + queued;
    if (concurrency === 0) {
      this.#idleSeconds += seconds;
      return;
    }
    if (queued > 0) this.#queuedSeconds += seconds;
    this.#seconds.set(concurrency, (this.#seconds.get(concurrency) ?? 0) + seconds);
  }

  idle(seconds: number): void {
    this.#idleSeconds += seconds;
  }

  /** What was added so far, with what else the data says. */
  result(
    facts: Partial<
      Pick<ObservedLoad, 'period' | 'requests' | 'meanInputTokens' | 'meanOutputTokens'>
    > = {},
  ): ObservedLoad {
    const ascending = [...this.#seconds].sort(([a], [b]) => a - b);
    return {
      secondsByConcurrency: new Map(ascending),
      busySeconds: ascending.reduce((sum, [, seconds]) => sum + seconds, 0),
      idleSeconds: this.#idleSeconds,
      queuedSeconds: this.#queuedSeconds,
      samples: this.#samples,
      period: facts.period ?? null,
      requests: facts.requests ?? null,
      meanInputTokens: facts.meanInputTokens ?? null,
      meanOutputTokens: facts.meanOutputTokens ?? null,
    };
  }
}
