import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import { RefusedKeyError } from '../load/server-probe.ts';
import type { ServerProbe } from './services.ts';

const PAUSE_MS = 1000;

/**
 * Waits until the server answers a real completion: production that was just started loads its
 * model first.
 *
 * @throws UserError when `limitSeconds` have passed, and at once when the server refuses our key,
 *   which waiting does not mend; the signal's reason when interrupted; a fault of this program as
 *   it is.
 */
export async function proveServing(
  probe: Pick<ServerProbe, 'complete'>,
  limitSeconds: number,
  clock: Clock,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const deadlineMs = clock.nowMs() + limitSeconds * 1000;
  for (;;) {
    try {
      await probe.complete(signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isNetworkFailure(error) || error instanceof RefusedKeyError) throw error;
      if (clock.nowMs() >= deadlineMs) {
        throw new UserError(`no completion within ${String(limitSeconds)} s`, { cause: error });
      }
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}
