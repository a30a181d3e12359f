import { httpCall } from './http-call.ts';
import type { ServerAccess } from './server-probe.ts';

const LOADS_TIMEOUT_MS = 5000;

/**
 * Requests that run or wait at an SGLang server, all ranks together, whoever sent them (`/v1/loads`,
 * sglang.md 4.6); null for a server without that route, or one that does not answer in time.
 */
export async function requestsInFlight(
  access: ServerAccess,
  signal?: AbortSignal,
): Promise<number | null> {
  const call = { ...access, path: '/v1/loads', timeoutMs: LOADS_TIMEOUT_MS, signal };
  const answer = await httpCall(call).catch(() => undefined);
  signal?.throwIfAborted();
  return answer?.status === 200 ? countRequests(answer.text) : null;
}

function countRequests(text: string): number | null {
  try {
    const { loads } = JSON.parse(text) as { loads?: unknown };
    if (!Array.isArray(loads)) return null;
    return (loads as Readonly<Record<string, unknown>>[]).reduce(
      (total, load) => total + count(load['num_running_reqs']) + count(load['num_waiting_reqs']),
      0,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
