import { httpCall } from './http-call.ts';
import { noAnswer } from './network-failure.ts';
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
  const answer = await httpCall(call).catch(noAnswer);
  signal?.throwIfAborted();
  return answer?.status === 200 ? countRequests(answer.text) : null;
}

/** What the schedulers publish may be older; an old count says nothing about now. */
const FRESH_SECONDS = 1;

/** Requests in the text of a `/v1/loads` answer; null when it is none, or not of this moment. */
export function countRequests(text: string): number | null {
  const answer = parseObject(text);
  const loads = answer?.['loads'];
  const nowSeconds = Date.parse(String(answer?.['timestamp'])) / 1000;
  if (!Array.isArray(loads) || Number.isNaN(nowSeconds)) return null;
  let total = 0;
  for (const load of loads as Readonly<Record<string, unknown>>[]) {
    if (nowSeconds - count(load['timestamp']) > FRESH_SECONDS) return null;
    total += count(load['num_running_reqs']) + count(load['num_waiting_reqs']);
  }
  return total;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
