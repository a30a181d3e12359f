import { httpCall } from './http-call.ts';
import type { LoadPlan } from './load-run.ts';

/** Whole time for telling the server, wall ms; closing the sockets has already told it once. */
const ABORT_TIMEOUT_MS = 2000;
const AT_A_TIME = 8;

/**
 * Tells a native server to drop these requests. Their sockets are closed already, which SGLang
 * notices for streams; this also reaches requests that wait in its queue. A server that is gone
 * has nothing left to abort, so failures are no error.
 */
export async function abortRequests(
  { baseUrl, apiKey }: Pick<LoadPlan, 'baseUrl' | 'apiKey'>,
  requestIds: readonly string[],
): Promise<void> {
  const deadlineMs = performance.now() + ABORT_TIMEOUT_MS;
  const left = [...requestIds];
  const abortNext = async (): Promise<void> => {
    for (let rid = left.pop(); rid !== undefined; rid = left.pop()) {
      const timeoutMs = deadlineMs - performance.now();
      if (timeoutMs <= 0) return;
      const body = JSON.stringify({ rid });
      await httpCall({ baseUrl, apiKey, path: '/abort_request', method: 'POST', body, timeoutMs });
    }
  };
  await Promise.allSettled(Array.from({ length: AT_A_TIME }, abortNext));
}
