import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ClientLoad } from '../metrics/point-marks.ts';

/** How often the event loop is sampled; the histogram's values contain this wait. */
const RESOLUTION_MS = 10;

/**
 * Starts watching this process; the returned function ends that and tells what was seen: how late
 * the event loop was (99th percentile, wall ms), which share of one core was used, and for which
 * share of the time the thread was ready but another had its core (field report C15).
 */
export function startSelfCheck(): () => ClientLoad {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const cpuBefore = process.cpuUsage();
  const waitBefore = cpuWaitMs();
  const startMs = performance.now();
  delay.enable();
  return () => {
    delay.disable();
    const wallMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    const waitMs = cpuWaitMs();
    const p99 = delay.count === 0 ? 0 : delay.percentile(99) / 1e6 - RESOLUTION_MS;
    return {
      eventLoopDelayP99Ms: Math.max(0, p99),
      cpuFraction: wallMs > 0 ? (user + system) / 1000 / wallMs : 0,
      ...(waitMs === undefined || waitBefore === undefined || wallMs <= 0
        ? {}
        : { cpuWaitFraction: (waitMs - waitBefore) / wallMs }),
    };
  };
}

/** Time this thread has waited for a core so far, ms; undefined where the kernel does not say. */
function cpuWaitMs(): number | undefined {
  try {
    const waitNs = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1];
    return waitNs === undefined ? undefined : Number(waitNs) / 1e6;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}
