import { setTimeout as sleepFor } from 'node:timers/promises';

/** Time, passed in wherever code waits or measures, so that tests need no real waiting. */
export interface Clock {
  /** Wall-clock time in ms since 1970; may jump. Only for showing and storing moments. */
  wallMs(): number;
  /** Monotonic time in ms from an arbitrary origin; for every duration and deadline. */
  nowMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  nowMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await sleepFor(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      // The timer rejects with its own AbortError; callers tell interrupts apart by the reason.
      if (signal?.aborted === true) throw signal.reason;
      throw error;
    }
  },
};
