import { PythonError } from './python-error.ts';
import { type Fields, numberOf, textOf } from './resolution.ts';

/** What fits beside the weights of the reference model (Qwen3.5-122B-A10B on four 98 GB GPUs). */
export interface Capacity {
  /** Requests that run at a time, after all reductions. */
  readonly maxRunningRequests: number;
  /** What was asked for or defaulted to. */
  readonly requestedMaxRunningRequests: number;
  readonly maxTotalTokens: number;
  /** State slots of the linear-attention layers. */
  readonly maxMambaCacheSize: number;
  readonly contextLength: number;
  readonly freeGb: number;
  readonly kvCacheGb: number;
  readonly mambaGb: number;
  readonly weightGb: number;
  /** Batch sizes with a captured decode graph, ascending; empty when graphs are off. */
  readonly graphBatchSizes: readonly number[];
}

export const GPU_GB = 95;
const WEIGHT_GB = 61;
/** Draft head, its KV cache and its CUDA graphs; taken from the pool under speculation. */
const DRAFT_GB = 8;
/** Activations, graphs and the driver need this much outside the static share. */
const OUTSIDE_GB = 5.5;
const STATE_SLOT_GB = 0.0123;
/** Slots that one draft token of one running request takes as intermediate states. */
const SLOTS_PER_DRAFT_TOKEN = 5.2;
const KV_BYTES_PER_TOKEN = 12_288;
const CONTEXT_LENGTH = 262_144;
const DEFAULT_MAX_RUNNING_REQUESTS = 2048;
const FILE = 'srt/mem_cache/kv_cache_configurator.py';

function fail(message: string, line: number): never {
  const place = { file: FILE, line, name: 'configure', source: 'raise ValueError(' };
  throw new PythonError('ValueError', message, place);
}

/** State slots per running request, by cache strategy (sglang.md 0.4). */
function slotRatio(fields: Fields): number {
  if (fields['disable_radix_cache'] === true) return 1;
  const strategy = textOf(fields, 'mamba_radix_cache_strategy');
  if (strategy === 'no_buffer') return 3;
  if (strategy === 'extra_buffer_lazy') return 4;
  return fields['disable_overlap_schedule'] === true ? 4 : 5;
}

/** Batch sizes that SGLang captures up to `max`; denser under speculation. */
export function graphBatchSizes(fields: Fields, runningLimit: number): readonly number[] {
  if (fields['cuda_graph_backend_decode'] === 'disabled') return [];
  const listed = fields['cuda_graph_bs_decode'];
  const max = numberOf(fields, 'cuda_graph_max_bs_decode') ?? defaultGraphMax(fields);
  const speculative = textOf(fields, 'speculative_algorithm') !== undefined;
  const small = speculative ? [1, 2, 3, 4, 5, 6, 7, 8] : [1, 2, 4, 8];
  const step = (size: number): number => (size < 32 && speculative ? 2 : size < 32 ? 4 : 8);
  const generated: number[] = small.filter((size) => size <= max);
  for (let size = 8 + step(8); size <= max; size += step(size)) generated.push(size);
  const sizes = Array.isArray(listed) ? (listed as readonly number[]).map(Number) : generated;
  const asked = Array.isArray(listed) ? Math.max(0, ...sizes) : max;
  // SGLang clamps the list to the request pool and appends its size.
  const clamped = sizes.filter((size) => size <= runningLimit);
  if (asked >= runningLimit && !clamped.includes(runningLimit)) clamped.push(runningLimit);
  return clamped.sort((a, b) => a - b);
}

function defaultGraphMax(fields: Fields): number {
  return (numberOf(fields, 'tp_size') ?? 1) >= 4 ? 512 : 256;
}

/** GB for the KV and state pools; raises SGLang's errors where nothing is left. */
function poolGb(fields: Fields, speculative: boolean): number {
  const fraction = numberOf(fields, 'mem_fraction_static') ?? 0.84;
  const available = GPU_GB * fraction - WEIGHT_GB;
  if (available <= 0) {
    const least = (WEIGHT_GB / GPU_GB).toFixed(3);
    fail(
      `Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=${fraction}. Raise --mem-fraction-static above ${least} (minimum viable = 1 - available/pre = ${least}). If using speculative decoding, draft weights are now counted.`,
      3050,
    );
  }
  return available - (speculative ? DRAFT_GB : 0);
}

/**
 * Sizes the pools as SGLang does for a hybrid (linear attention) model: KV and states share what
 * the static fraction leaves, draft tokens take intermediate states, and the running limit is
 * reduced to what the states allow, with only a warning.
 *
 * @throws PythonError as the scheduler does (after the weights are loaded)
 */
export function sizeMemory(fields: Fields): Capacity {
  const speculative = textOf(fields, 'speculative_algorithm') !== undefined;
  const available = poolGb(fields, speculative);
  const stateShare = numberOf(fields, 'mamba_full_memory_ratio') ?? 0.9;
  const mambaGb = (available * stateShare) / (1 + stateShare);
  const ratio = slotRatio(fields);
  const draftTokens = speculative ? (numberOf(fields, 'speculative_num_draft_tokens') ?? 0) : 0;
  const slotFactor = textOf(fields, 'mamba_ssm_dtype') === 'float32' ? 2 : 1;
  const slots =
    numberOf(fields, 'max_mamba_cache_size') ??
    Math.floor(
      mambaGb /
        (STATE_SLOT_GB * slotFactor) /
        (1 + (SLOTS_PER_DRAFT_TOKEN * Math.max(0, draftTokens)) / ratio),
    );
  if (slots <= 0) {
    fail(
      `Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=${slots}. Try to increase --mem-fraction-static or --mamba-full-memory-ratio.`,
      3240,
    );
  }
  const kvCacheGb = available - mambaGb;
  const kvFactor = (textOf(fields, 'kv_cache_dtype') ?? 'auto').startsWith('fp8') ? 0.5 : 1;
  const profiled = Math.floor((kvCacheGb * 1e9) / (KV_BYTES_PER_TOKEN * kvFactor));
  const maxTotalTokens = Math.min(profiled, numberOf(fields, 'max_total_tokens') ?? Infinity);
  const requested = numberOf(fields, 'max_running_requests') ?? DEFAULT_MAX_RUNNING_REQUESTS;
  const limit = Math.min(requested, Math.floor(maxTotalTokens / 2), Math.floor(slots / ratio));
  if (limit <= 0) {
    fail(
      `Hybrid (mamba/linear-attention) state cache is too small to serve any requests: max_mamba_cache_size=${slots}, max_running_requests=${requested}.`,
      3150,
    );
  }
  return {
    maxRunningRequests: limit,
    requestedMaxRunningRequests: requested,
    maxTotalTokens,
    maxMambaCacheSize: slots,
    contextLength: numberOf(fields, 'context_length') ?? CONTEXT_LENGTH,
    freeGb: GPU_GB - WEIGHT_GB - (speculative ? DRAFT_GB : 0) - available,
    kvCacheGb,
    mambaGb,
    weightGb: WEIGHT_GB,
    graphBatchSizes: graphBatchSizes(fields, limit),
  };
}

/** Raises the out-of-memory error of graph capture when too little is left outside the pools. */
export function checkGraphMemory({ freeGb }: Capacity): void {
  if (freeGb >= OUTSIDE_GB) return;
  const text = `Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 94.97 GiB of which ${Math.max(0.04, freeGb / 10).toFixed(2)} GiB is free.\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)\n3. disable torch compile by not using --enable-torch-compile\n4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\nOpen an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose `;
  const place = {
    file: 'srt/model_executor/runner/cuda_graph_runner.py',
    line: 512,
    name: '__init__',
    source: 'raise Exception(',
  };
  throw new PythonError('Exception', text, place);
}

/** Raises where the attention kernels do not exist for compute capability 12.0. */
export function checkKernels(fields: Fields): void {
  const backend = textOf(fields, 'attention_backend') ?? '';
  const place = {
    file: 'srt/layers/attention/attention_registry.py',
    line: 120,
    name: 'create_backend',
    source: 'assert (',
  };
  if (backend === 'fa3') {
    const text =
      'FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.';
    throw new PythonError('AssertionError', text, place);
  }
  if (['fa4', 'flashmla', 'cutlass_mla', 'trtllm_mla', 'cutedsl_mla'].includes(backend)) {
    throw new PythonError('AssertionError', `${backend} is not supported on SM120.`, place);
  }
  if (
    textOf(fields, 'speculative_algorithm') !== undefined &&
    ['torch_native', 'flex_attention'].includes(backend)
  ) {
    const text = `EAGLE is not supported in attention backend ${backend}`;
    throw new PythonError('ValueError', text, {
      file: 'srt/speculative/draft_utils.py',
      line: 64,
      name: '_create_backend',
      source: 'raise ValueError(error_template.format(backend_type=backend_type))',
    });
  }
}
