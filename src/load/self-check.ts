import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { SelfCheck } from './load-run.ts';

/** How often the event loop is sampled; the histogram's values contain this wait. */
const RESOLUTION_MS = 10;

/**
 * Starts watching this process; the returned function ends that and tells what was seen: how late
 * the event loop was (99th percentile, wall ms) and which share of one core was used (field
 * report C15).
 */
export function startSelfCheck(): () => SelfCheck {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  delay.enable();
  return () => {
    delay.disable();
    const wallMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    const p99 = delay.count === 0 ? 0 : delay.percentile(99) / 1e6 - RESOLUTION_MS;
    return {
      eventLoopDelayP99Ms: Math.max(0, p99),
      cpuFraction: wallMs > 0 ? (user + system) / 1000 / wallMs : 0,
    };
  };
}
