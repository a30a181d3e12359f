import type { Histogram } from './counters.ts';
import { asciiJson } from './request-body.ts';
import { numberOf, textOf } from './resolution.ts';
import type { Runtime } from './runtime.ts';

function metric(name: string, type: string, help: string, samples: readonly string[]): string[] {
  return [`# HELP sglang:${name} ${help}`, `# TYPE sglang:${name} ${type}`, ...samples];
}

function histogram(name: string, help: string, labels: string, data: Histogram): string[] {
  const buckets = data.bounds.map(
    (bound, i) =>
      `sglang:${name}_bucket{le="${bound.toFixed(1)}",${labels}} ${data.counts[i] ?? 0}.0`,
  );
  return metric(name, 'histogram', help, [
    `sglang:${name}_sum{${labels}} ${data.sum}`,
    ...buckets,
    `sglang:${name}_bucket{le="+Inf",${labels}} ${data.count}.0`,
    `sglang:${name}_count{${labels}} ${data.count}.0`,
  ]);
}

/** `GET /metrics` in Prometheus' text format: the figures a tuner reads, SGLang's names and labels. */
export function metricsText(runtime: Runtime): string {
  const { counters, capacity, engine, interval, launch, settings } = runtime;
  const model = asciiJson(textOf(launch.fields, 'served_model_name') ?? '');
  const front = `engine_type="unified",model_name=${model}`;
  const rank = `${front},moe_ep_rank="0",pp_rank="0",tp_rank="0"`;
  const gauge = (name: string, help: string, value: number): string[] =>
    metric(name, 'gauge', help, [`sglang:${name}{${rank}} ${value}`]);
  const counter = (name: string, help: string, value: number): string[] =>
    metric(name, 'counter', help, [`sglang:${name}{${front}} ${value}`]);
  const modes = (name: string, help: string, values: Readonly<Record<string, number>>): string[] =>
    metric(
      name,
      'counter',
      help,
      Object.entries(values).map(
        ([mode, value]) =>
          `sglang:${name}{engine_type="unified",mode="${mode}",model_name=${model},moe_ep_rank="0",pp_rank="0",tp_rank="0"} ${value}`,
      ),
    );
  const speculation =
    settings.speculation === undefined
      ? []
      : [
          ...gauge(
            'spec_accept_length',
            'The average acceptance length of speculative decoding.',
            interval.acceptLength ?? 0,
          ),
          ...gauge(
            'spec_accept_rate',
            'The average acceptance rate of speculative decoding.',
            interval.acceptRate ?? 0,
          ),
          ...counter(
            'spec_verify_calls_total',
            'Number of speculative verify calls.',
            counters.verifyCalls,
          ),
        ];
  const usage = runtime.usage();
  return `${[
    ...gauge('num_running_reqs', 'The number of running requests.', engine.active),
    ...gauge('num_queue_reqs', 'The number of requests in the waiting queue.', runtime.waiting),
    ...gauge('num_used_tokens', 'The number of used tokens.', engine.usedTokens),
    ...gauge('token_usage', 'The token usage.', usage.full),
    ...gauge('full_token_usage', 'The token usage for full attention layers.', usage.full),
    ...gauge('mamba_usage', 'The token usage for mamba layers.', usage.mamba),
    ...gauge(
      'gen_throughput',
      'The generation throughput (token/s).',
      interval.generationThroughput,
    ),
    ...gauge(
      'is_cuda_graph',
      'Whether the batch is using CUDA graph.',
      interval.runningRequests <= settings.graphMaxBatch ? 1 : 0,
    ),
    ...gauge(
      'max_total_num_tokens',
      'Maximum total number of tokens in the KV cache pool.',
      capacity.maxTotalTokens,
    ),
    ...gauge('page_size', 'Page size of the KV cache.', numberOf(launch.fields, 'page_size') ?? 1),
    ...gauge('context_len', 'Model context length in tokens.', capacity.contextLength),
    ...speculation,
    ...modes(
      'cuda_graph_passes_total',
      'Total number of forward passes categorized by CUDA graph.',
      {
        prefill_none: counters.prefillPasses,
        decode_cuda_graph: counters.decodeGraphPasses,
        decode_none: counters.decodeEagerPasses,
      },
    ),
    ...modes('realtime_tokens_total', 'Total number of tokens processed.', {
      prefill_compute: counters.prefillComputeTokens,
      decode: counters.decodeTokens,
      prefill_cache: counters.prefillCacheTokens,
    }),
    ...counter(
      'num_retracted_requests_total',
      'Total number of retracted requests.',
      counters.retractedRequests,
    ),
    ...counter('prompt_tokens_total', 'Number of prefill tokens processed.', counters.promptTokens),
    ...counter(
      'generation_tokens_total',
      'Number of generation tokens processed.',
      counters.generationTokens,
    ),
    ...counter('cached_tokens_total', 'Number of cached prompt tokens.', counters.cachedTokens),
    ...counter('num_requests_total', 'Number of requests processed.', counters.requests),
    ...counter(
      'num_aborted_requests_total',
      'Number of requests aborted.',
      counters.abortedRequests,
    ),
    ...histogram(
      'time_to_first_token_seconds',
      'Histogram of time to first token in seconds.',
      front,
      counters.ttftSeconds,
    ),
    ...histogram(
      'e2e_request_latency_seconds',
      'Histogram of End-to-end request latency in seconds.',
      front,
      counters.e2eSeconds,
    ),
    ...histogram(
      'queue_time_seconds',
      'Histogram of queueing time in seconds.',
      rank,
      counters.queueSeconds,
    ),
  ].join('\n')}\n`;
}
