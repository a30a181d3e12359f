import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';

/** A clock that runs `speed` times as fast as the machine's, for the sweep around fast servers. */
export function fastClock(speed: number): Clock {
  const origin = performance.now();
  const startedAtMs = Date.now();
  const nowMs = () => (performance.now() - origin) * speed;
  return {
    nowMs,
    wallMs: () => startedAtMs + nowMs(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      try {
        await sleepFor(ms / speed, undefined, signal === undefined ? {} : { signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    },
  };
}
