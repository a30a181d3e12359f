import { SGLANG_VERSION } from './launch.ts';
import { type Fields, numberOf, textOf } from './resolution.ts';
import type { Runtime } from './runtime.ts';

/** `GET /model_info`. */
export function modelInfo({ launch: { fields } }: Runtime): object {
  return {
    model_path: fields['model_path'],
    served_model_name: fields['served_model_name'],
    tokenizer_path: fields['tokenizer_path'],
    is_generation: true,
    preferred_sampling_params: fields['preferred_sampling_params'] ?? null,
    weight_version: fields['weight_version'],
    load_format: fields['load_format'],
    reasoning_parser: fields['reasoning_parser'] ?? null,
    tool_call_parser: fields['tool_call_parser'] ?? null,
    disaggregation_mode: 'null',
    has_image_understanding: false,
    has_audio_understanding: false,
    model_type: 'qwen3_5_moe',
    architectures: ['Qwen3_5MoeForConditionalGeneration'],
  };
}

/** `GET /v1/models`. */
export function models({ launch: { fields }, capacity }: Runtime): object {
  const id = textOf(fields, 'served_model_name') ?? '';
  const model = {
    id,
    object: 'model',
    created: Math.floor(Date.now() / 1000),
    owned_by: 'sglang',
    root: id,
    parent: null,
    max_model_len: capacity.contextLength,
  };
  return { object: 'list', data: [model] };
}

function cudaGraphConfig(fields: Fields, { capacity }: Runtime): object {
  const none = { tc_compiler: 'eager', max_context_size: null, full_prefill_max_req: null };
  const bs = capacity.graphBatchSizes;
  return {
    decode: {
      backend: bs.length === 0 ? 'disabled' : 'full',
      max_bs: numberOf(fields, 'cuda_graph_max_bs_decode') ?? bs.at(-1) ?? 0,
      bs,
      ...none,
    },
    prefill: {
      backend: fields['disable_prefill_cuda_graph'] === true ? 'disabled' : 'breakable',
      max_bs: numberOf(fields, 'chunked_prefill_size') ?? 8192,
      bs: [],
      ...none,
    },
  };
}

/** State of the one data-parallel rank, as far as it differs from the server arguments. */
function internalState(runtime: Runtime): object {
  const { capacity, interval, launch } = runtime;
  const effective = launch.switches.hideEffective
    ? {}
    : { effective_max_running_requests_per_dp: capacity.maxRunningRequests };
  return {
    ...launch.fields,
    max_mamba_cache_size: capacity.maxMambaCacheSize,
    cuda_graph_config: cudaGraphConfig(launch.fields, runtime),
    world_size: numberOf(launch.fields, 'tp_size') ?? 1,
    ...effective,
    last_gen_throughput: interval.generationThroughput,
    memory_usage: {
      weight: capacity.weightGb,
      kvcache: Number(capacity.kvCacheGb.toFixed(3)),
      startup_available: 93.9,
      token_capacity: capacity.maxTotalTokens,
      token_capacity_swa: null,
      graph: { prefill: 0, decode: 0.62, target_verify: 0, draft_prefill: 0, draft_decode: 0 },
    },
    decode_cuda_graph_bs: capacity.graphBatchSizes,
    ...(interval.acceptLength === undefined
      ? {}
      : { avg_spec_accept_length: interval.acceptLength }),
  };
}

/** `GET /server_info`: resolved arguments, scheduler facts, and what marks a simulated server. */
export function serverInfo(runtime: Runtime): object {
  const { launch, capacity } = runtime;
  return {
    ...launch.fields,
    cuda_graph_config: cudaGraphConfig(launch.fields, runtime),
    launch_command: launch.launchCommand,
    status: 'ready',
    max_total_num_tokens: capacity.maxTotalTokens,
    max_req_input_len: capacity.contextLength - 6,
    internal_states: [internalState(runtime)],
    version: SGLANG_VERSION,
    kv_events: null,
    nightsweep_simulator: { speed: launch.switches.speed, seed: launch.seed },
  };
}

/** `GET /v1/loads`. */
export function loads(runtime: Runtime): object {
  const { capacity, engine, interval, launch } = runtime;
  const now = new Date();
  const accept = interval.acceptLength;
  const load = {
    timestamp: now.getTime() / 1000,
    dp_rank: 0,
    num_running_reqs: engine.active,
    num_waiting_reqs: runtime.waiting,
    num_waiting_uncached_tokens: engine.waiting.reduce((sum, one) => sum + one.promptTokens, 0),
    num_used_tokens: engine.usedTokens,
    num_total_tokens: engine.usedTokens,
    max_total_num_tokens: capacity.maxTotalTokens,
    ...(launch.switches.hideEffective ? {} : { max_running_requests: capacity.maxRunningRequests }),
    token_usage: runtime.usage().full,
    gen_throughput: interval.generationThroughput,
    cache_hit_rate: 0,
    utilization: 0,
    memory: {
      weight_gb: capacity.weightGb,
      kv_cache_gb: Number(capacity.kvCacheGb.toFixed(3)),
      graph_gb: 0.62,
      token_capacity: capacity.maxTotalTokens,
    },
    ...(accept === undefined
      ? {}
      : { speculative: { accept_length: accept, accept_rate: interval.acceptRate ?? 0 } }),
    queues: { waiting: runtime.waiting, grammar: 0, paused: 0, retracted: 0, prealloc_ready: 0 },
  };
  return {
    timestamp: now.toISOString().replace('Z', '000+00:00'),
    version: SGLANG_VERSION,
    accelerator: 'NVIDIA RTX PRO 6000 Blackwell',
    num_accelerators: numberOf(launch.fields, 'tp_size') ?? 1,
    loads: [load],
  };
}
