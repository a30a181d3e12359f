import type { Clock } from '../clock.ts';
import type { ServerProbe } from './services.ts';

const PAUSE_MS = 1000;

/**
 * Waits until the server answers a real completion: production that was just started loads its
 * model first. Throws what the last attempt failed with when `limitSeconds` have passed.
 */
export async function proveServing(
  probe: Pick<ServerProbe, 'complete'>,
  limitSeconds: number,
  clock: Clock,
): Promise<void> {
  const deadlineMs = clock.nowMs() + limitSeconds * 1000;
  for (;;) {
    try {
      await probe.complete(new AbortController().signal);
      return;
    } catch (error) {
      if (clock.nowMs() >= deadlineMs) throw error;
    }
    await clock.sleep(PAUSE_MS);
  }
}
