/** Simulated time: runs `speed` times as fast as the wall clock, from 0 at its creation. */
export class SimClock {
  readonly #originMs = performance.now();
  readonly speed: number;

  constructor(speed: number) {
    this.speed = speed;
  }

  /** Simulated ms; always derived from the wall clock, so that late timers add no drift. */
  nowMs(): number {
    return (performance.now() - this.#originMs) * this.speed;
  }

  /** Calls back after `simulatedMs`; returns what cancels it. */
  after(simulatedMs: number, callback: () => void): () => void {
    const timer = setTimeout(callback, Math.max(0, simulatedMs / this.speed));
    return () => {
      clearTimeout(timer);
    };
  }

  /** Resolves after `simulatedMs`; rejects when aborted. */
  sleep(simulatedMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel();
        reject(new Error('the simulated server ended'));
      };
      const cancel = this.after(simulatedMs, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}
