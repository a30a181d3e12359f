import type { ArgumentValue } from './flags.ts';
import { PythonError } from './python-error.ts';

/** Fields of ServerArgs by name; resolution rewrites them in place. */
export type Fields = Record<string, ArgumentValue>;

const SPECULATIVE = 'srt/arg_groups/speculative_hook.py';
const VALIDATION = 'srt/arg_groups/validation_hook.py';
const EAGLE_FAMILY = new Set(['EAGLE', 'EAGLE3', 'NEXTN', 'STANDALONE']);
const ALGORITHMS = new Set([...EAGLE_FAMILY, 'NGRAM', 'DFLASH', 'DSPARK']);

/** Running requests of every speculative algorithm when the flag is not given. */
export const SPECULATIVE_MAX_RUNNING_REQUESTS = 48;

function raise(type: string, message: string, file: string, line: number, source: string): never {
  throw new PythonError(type, message, { file, line, name: 'resolve', source });
}

/** The number in a field, or undefined where it is null. */
export function numberOf(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' ? value : undefined;
}

/** The text in a field, or undefined where it is null. */
export function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

function resolveEagle(fields: Fields, log: (line: string) => void): void {
  const steps = numberOf(fields, 'speculative_num_steps');
  const topk = numberOf(fields, 'speculative_eagle_topk');
  const draft = numberOf(fields, 'speculative_num_draft_tokens');
  if (steps === undefined) {
    if (topk !== undefined || draft !== undefined) {
      raise(
        'AssertionError',
        '',
        SPECULATIVE,
        1162,
        'and cfg.speculative_num_draft_tokens is None',
      );
    }
    fields['speculative_num_steps'] = 3;
    fields['speculative_eagle_topk'] = 1;
    fields['speculative_num_draft_tokens'] = 4;
    return;
  }
  if (topk === undefined) {
    const text = "'>' not supported between instances of 'NoneType' and 'int'";
    raise('TypeError', text, SPECULATIVE, 1274, 'cfg.speculative_eagle_topk > 1');
  }
  if (topk > 1) resolveTree(fields, topk);
  else if (draft !== steps + 1) {
    log(
      'speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1',
    );
    fields['speculative_num_draft_tokens'] = steps + 1;
  }
}

/** Rules for draft trees (top-k above 1). */
function resolveTree(fields: Fields, topk: number): void {
  const backend = textOf(fields, 'attention_backend');
  const page = numberOf(fields, 'page_size') ?? 1;
  if (backend === 'trtllm_mha') {
    const text = 'trtllm_mha backend only supports topk = 1 for speculative decoding.';
    raise('ValueError', text, SPECULATIVE, 1270, 'raise ValueError(');
  }
  if (page > 1 && !['flashinfer', 'fa3', 'triton'].includes(backend ?? '')) {
    const text = `speculative_eagle_topk > 1 with page_size > 1 is only supported on ('flashinfer', 'fa3', 'triton'); got attention_backend=${String(backend)}`;
    raise('ValueError', text, SPECULATIVE, 1281, 'raise ValueError(');
  }
  if (numberOf(fields, 'speculative_num_draft_tokens') === undefined) {
    const steps = numberOf(fields, 'speculative_num_steps') ?? 0;
    const text = "'>' not supported between instances of 'NoneType' and 'int'";
    const source = `max(${topk * steps}, server_args.speculative_num_draft_tokens)`;
    raise('TypeError', text, 'srt/managers/tokenizer_manager.py', 352, source);
  }
  if (fields['speculative_use_rejection_sampling'] === true) {
    const text = 'speculative_use_rejection_sampling requires speculative_eagle_topk == 1.';
    raise('ValueError', text, SPECULATIVE, 1250, 'raise ValueError(');
  }
}

function resolveSpeculation(fields: Fields, log: (line: string) => void): void {
  const asked = textOf(fields, 'speculative_algorithm')?.toUpperCase();
  if (asked === undefined) return;
  if (!ALGORITHMS.has(asked)) {
    const text = `Unknown speculative algorithm name: ${asked}`;
    raise('ValueError', text, 'srt/speculative/spec_info.py', 65, 'raise ValueError(');
  }
  // Server info shows EAGLE for NEXTN: the alias is resolved before anything else.
  fields['speculative_algorithm'] = asked === 'NEXTN' ? 'EAGLE' : asked;
  if (numberOf(fields, 'max_running_requests') === undefined) {
    fields['max_running_requests'] = SPECULATIVE_MAX_RUNNING_REQUESTS;
    log(
      'Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting --max-running-requests.',
    );
  }
  if (fields['enable_mixed_chunk'] === true) {
    fields['enable_mixed_chunk'] = false;
    log('Mixed chunked prefill is disabled because of using eagle speculative decoding.');
  }
  if (fields['disable_overlap_schedule'] === true) {
    log(
      'Non-overlap (synchronous) spec v2 is used for eagle/eagle3/standalone speculative decoding.',
    );
  }
  if (EAGLE_FAMILY.has(asked)) resolveEagle(fields, log);
  else if (asked === 'NGRAM') {
    fields['speculative_num_steps'] = 1;
    fields['speculative_eagle_topk'] = fields['speculative_ngram_max_bfs_breadth'] ?? 10;
    fields['speculative_num_draft_tokens'] ??= 12;
  }
}

function resolveMamba(fields: Fields): void {
  if (fields['disable_radix_cache'] === true) return;
  const strategy = textOf(fields, 'mamba_radix_cache_strategy') ?? 'auto';
  const page = numberOf(fields, 'page_size') ?? 1;
  const overlap = fields['disable_overlap_schedule'] !== true;
  const hook = 'srt/arg_groups/mamba_hook.py';
  if (strategy === 'no_buffer' && page > 1) {
    raise('ValueError', 'no_buffer only supports page_size=1.', hook, 90, 'raise ValueError(');
  }
  if (strategy === 'no_buffer' && overlap) {
    const text =
      'no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True.';
    raise('ValueError', text, hook, 93, 'raise ValueError(');
  }
  if (
    strategy === 'extra_buffer_lazy' &&
    numberOf(fields, 'speculative_num_draft_tokens') !== undefined &&
    textOf(fields, 'speculative_algorithm') !== undefined
  ) {
    raise('ValueError', 'extra_buffer_lazy unsupported with spec.', hook, 107, 'raise ValueError(');
  }
  if (strategy !== 'auto') return;
  const extra =
    (overlap || page > 1) && (textOf(fields, 'linear_attn_backend') ?? 'triton') === 'triton';
  fields['mamba_radix_cache_strategy'] = extra ? 'extra_buffer' : 'no_buffer';
  if (!extra) fields['disable_overlap_schedule'] = true;
}

function checkServerArgs(fields: Fields): void {
  const chunk = numberOf(fields, 'chunked_prefill_size') ?? -1;
  const page = numberOf(fields, 'page_size') ?? 1;
  if (page === 0) {
    const source = 'assert cfg.chunked_prefill_size % cfg.page_size == 0, (';
    raise('ZeroDivisionError', 'integer modulo by zero', VALIDATION, 244, source);
  }
  if (chunk > 0 && chunk % page !== 0) {
    const text = 'chunked_prefill_size must be divisible by page_size';
    const source = 'assert cfg.chunked_prefill_size % cfg.page_size == 0, (';
    raise('AssertionError', text, VALIDATION, 244, source);
  }
  if ((numberOf(fields, 'schedule_conservativeness') ?? 1) < 0) {
    const text = 'schedule_conservativeness must be non-negative';
    const source = 'assert cfg.schedule_conservativeness >= 0, (';
    raise('AssertionError', text, VALIDATION, 314, source);
  }
  if (fields['enable_hierarchical_cache'] === true && fields['disable_radix_cache'] === true) {
    const text =
      'The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive and cannot be used at the same time. Please use only one of them.';
    raise('ValueError', text, 'srt/arg_groups/kv_cache_hook.py', 394, 'raise ValueError(');
  }
  const dp = numberOf(fields, 'dp_size') ?? 1;
  const tp = numberOf(fields, 'tp_size') ?? 1;
  if (fields['enable_dp_attention'] === true && tp % dp !== 0) {
    const source = 'assert cfg.tp_size % cfg.attn_dp_size == 0';
    raise('AssertionError', '', 'srt/arg_groups/parallel_hook.py', 326, source);
  }
  const served = textOf(fields, 'served_model_name') ?? '';
  if (served.includes(':')) {
    const text = `served_model_name cannot contain a colon (':') character. You provided '${served}'.`;
    raise('ValueError', text, VALIDATION, 120, 'raise ValueError(');
  }
}

function fillDefaults(fields: Fields, randomSeed: number, log: (line: string) => void): void {
  fields['tokenizer_path'] ??= fields['model_path'] ?? null;
  fields['served_model_name'] ??= fields['model_path'] ?? null;
  fields['random_seed'] ??= randomSeed;
  fields['chunked_prefill_size'] ??= 8192;
  fields['mem_fraction_static'] ??= 0.84;
  fields['page_size'] ??= 1;
  if (fields['attention_backend'] === null) {
    fields['attention_backend'] = 'flashinfer';
    log('Attention backend not specified. Use flashinfer backend by default.');
  }
  if (fields['disable_cuda_graph'] === true || fields['disable_decode_cuda_graph'] === true) {
    fields['cuda_graph_backend_decode'] = 'disabled';
  }
  if (numberOf(fields, 'dp_size') === 1) fields['enable_dp_attention'] = false;
  if (fields['attention_backend'] === 'torch_native') {
    log('Cuda graph is disabled because of using torch native attention backend');
    fields['cuda_graph_backend_decode'] = 'disabled';
  }
}

/**
 * SGLang's own resolution of launch arguments, in its order, for a GPU of compute capability 12.0.
 * Rewrites `fields`; `log` gets the warnings it prints.
 *
 * @throws PythonError where SGLang raises before any model is loaded (exit code 1)
 */
export function resolveFields(
  fields: Fields,
  randomSeed: number,
  log: (line: string) => void,
): void {
  fillDefaults(fields, randomSeed, log);
  if (fields['attention_backend'] === 'trtllm_mha') {
    const text = 'TRTLLM MHA backend is only supported on Blackwell GPUs (SM100) for prefill.';
    raise('ValueError', text, 'srt/arg_groups/attention_hook.py', 210, 'raise ValueError(');
  }
  resolveMamba(fields);
  resolveSpeculation(fields, log);
  checkServerArgs(fields);
}
