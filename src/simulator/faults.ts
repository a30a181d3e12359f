import { createRandom, mix } from './random.ts';
import type { Switches } from './switches.ts';

/** What goes wrong with one stream, and after how many output tokens. */
export interface StreamFault {
  readonly kind: 'freeze' | 'truncate' | 'error';
  readonly afterTokens: number;
}

/** What happens to the whole server when a request arrives. */
export type ServerFault = 'exit' | 'crash' | 'hang' | 'restart';

/** Decides from the switches and the seed what fails under load: the same for the same seed. */
export class Faults {
  readonly #switches: Switches;
  readonly #seed: number;
  #arrived = 0;

  constructor(switches: Switches, seed: number) {
    this.#switches = switches;
    this.#seed = seed;
  }

  /** Counts an arriving request; returns what it triggers. */
  onArrival(maxNewTokens: number): {
    readonly ordinal: number;
    readonly server: ServerFault | undefined;
    readonly refuse: boolean;
    readonly stream: StreamFault | undefined;
  } {
    this.#arrived += 1;
    const ordinal = this.#arrived;
    const random = createRandom(mix(this.#seed, ordinal));
    const refuse = random.next() < this.#switches.refuseFraction;
    return {
      ordinal,
      server: this.#serverFault(ordinal),
      refuse,
      stream: this.#streamFault(random.next(), random.next(), maxNewTokens),
    };
  }

  #serverFault(ordinal: number): ServerFault | undefined {
    const { exitAtRequest, crashAtRequest, hangAtRequest, restartAtRequest } = this.#switches;
    if (ordinal === exitAtRequest) return 'exit';
    if (ordinal === crashAtRequest) return 'crash';
    if (ordinal === restartAtRequest) return 'restart';
    return hangAtRequest !== undefined && ordinal >= hangAtRequest ? 'hang' : undefined;
  }

  #streamFault(which: number, where: number, maxNewTokens: number): StreamFault | undefined {
    const { freezeFraction, truncateFraction, errorFraction } = this.#switches;
    const afterTokens = 1 + Math.floor(where * Math.max(1, maxNewTokens - 1));
    if (which < freezeFraction) return { kind: 'freeze', afterTokens };
    if (which < freezeFraction + truncateFraction) return { kind: 'truncate', afterTokens };
    if (which < freezeFraction + truncateFraction + errorFraction)
      return { kind: 'error', afterTokens };
    return undefined;
  }

  /** True when a decode step with so many running requests runs out of memory. */
  outOfMemory(runningRequests: number): boolean {
    const { oomAbove, oomAtRequest } = this.#switches;
    return (
      (oomAbove !== undefined && runningRequests > oomAbove) ||
      (oomAtRequest !== undefined && this.#arrived >= oomAtRequest && runningRequests > 0)
    );
  }
}

const NEIGHBOUR_PERIOD_MS = 120_000;
const NEIGHBOUR_BUSY_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Slowdown over simulated time by `--sim-drift` and `--sim-neighbour`; 1 = none. */
export function slowdown(
  { driftFractionPerHour, neighbourFraction }: Switches,
  nowMs: number,
): number {
  const drift = 1 + (driftFractionPerHour * nowMs) / HOUR_MS;
  const busy = nowMs % NEIGHBOUR_PERIOD_MS < NEIGHBOUR_BUSY_MS;
  return drift * (busy ? 1 + neighbourFraction : 1);
}
