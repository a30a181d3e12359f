import type { ServerCounters } from '../metrics/server-counts.ts';
import { httpCall } from './http-call.ts';
import { noAnswer } from './network-failure.ts';
import type { ServerAccess } from './server-probe.ts';

const METRICS_TIMEOUT_MS = 5000;

/**
 * Names of the counters by what they count, for SGLang (sglang.md 3.4), vLLM and llama.cpp; the
 * first that the server has counts.
 */
const COUNTER_NAMES = {
  outputTokens: [
    'sglang:generation_tokens_total',
    'vllm:generation_tokens_total',
    'llamacpp:tokens_predicted_total',
  ],
  promptTokens: [
    'sglang:prompt_tokens_total',
    'vllm:prompt_tokens_total',
    'llamacpp:prompt_tokens_total',
  ],
  requests: ['sglang:num_requests_total', 'vllm:request_success_total'],
  verifySteps: ['sglang:spec_verify_calls_total', 'vllm:spec_decode_num_drafts_total'],
  cachedTokens: ['sglang:cached_tokens_total', 'vllm:prefix_cache_hits_total'],
  retractions: ['sglang:num_retracted_requests_total', 'vllm:num_preemptions_total'],
} satisfies Record<keyof ServerCounters, readonly string[]>;

/**
 * What the server has counted since its start; null when it has no metrics endpoint (SGLang needs
 * `--enable-metrics`) or it does not answer: the client's own counts stand alone then.
 */
export async function readServerCounters(
  access: ServerAccess,
  signal?: AbortSignal,
): Promise<ServerCounters | null> {
  const text = await readMetricsText(access, signal);
  return text === undefined ? null : parseCounters(text);
}

/** Text of `/metrics`; undefined for a server without it, or one that does not answer. */
export async function readMetricsText(
  access: ServerAccess,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const call = { ...access, path: '/metrics', timeoutMs: METRICS_TIMEOUT_MS, signal };
  const answer = await httpCall(call).catch(noAnswer);
  signal?.throwIfAborted();
  return answer?.status === 200 ? answer.text : undefined;
}

/** Counters of a Prometheus text, each summed over its labels; null when none is known. */
export function parseCounters(text: string): ServerCounters | null {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)/.exec(line);
    const value = Number(match?.[2]);
    if (match?.[1] === undefined || !Number.isFinite(value)) continue;
    sums.set(match[1], (sums.get(match[1]) ?? 0) + value);
  }
  const valueOf = (names: readonly string[]): number | null => {
    const name = names.find((candidate) => sums.has(candidate));
    return name === undefined ? null : (sums.get(name) ?? null);
  };
  const counters = Object.fromEntries(
    Object.entries(COUNTER_NAMES).map(([key, names]) => [key, valueOf(names)]),
  ) as Record<keyof ServerCounters, number | null>;
  return Object.values(counters).every((value) => value === null) ? null : counters;
}
