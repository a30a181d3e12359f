import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';
import { qwen35Architectures } from './models.ts';

const hook = 'arg_groups/attention_hook.py';
const passes = 'arg_groups/overrides.py';
const chooser = 'arg_groups/model_override_base.py';
const plain = { 'model.attention': 'plain' };
const latent = { 'model.attention': 'latent' };
const unset = { 'attention-backend': null, device: 'cuda' };
const blackwell = { 'gpu.capability': ['10.0', '10.3'] };

/** No tree to verify: no top-k given, or top-k 1 with pages of one token (utils/common.py:3960). */
const chain = [
  { 'speculative-eagle-topk': null },
  { 'speculative-eagle-topk': 1, 'page-size': [null, 1] },
];

/** Without `--attention-backend`: what the machine, the model, the top-k and the page size lead to. */
export const attentionDefaultRules: readonly Rule[] = [
  rule(
    'split-backends-agree',
    `${passes}:1129`,
    {
      'prefill-attention-backend': '!= ~',
      'decode-attention-backend': '!= ~',
      'split-backends-differ': null,
    },
    filledIn({ 'attention-backend': { copy: 'prefill-attention-backend' } }),
  ),
  rule(
    'hopper-chain-fa3',
    `${chooser}:305`,
    chain.map((when) => ({ ...unset, ...plain, 'gpu.capability': '9.0', ...when })),
    filledIn({ 'attention-backend': 'fa3' }),
  ),
  rule(
    'blackwell-chain-trtllm',
    `${chooser}:312`,
    chain.flatMap((when) =>
      [
        { 'speculative-algorithm': null },
        { 'speculative-eagle-topk': 1, 'page-size': [null, 1] },
      ].map((also) => ({ ...unset, ...plain, ...blackwell, ...when, ...also })),
    ),
    filledIn({ 'attention-backend': 'trtllm_mha' }),
  ),
  rule(
    'latent-hopper-fa3',
    `${chooser}:340`,
    { ...unset, ...latent, 'gpu.capability': '9.0' },
    filledIn({ 'attention-backend': 'fa3' }),
  ),
  rule(
    'latent-default-triton',
    `${chooser}:353`,
    { ...unset, ...latent, 'gpu.capability': ['7.5', '8.0', '8.6', '8.9', '12.0', '12.1'] },
    filledIn({ 'attention-backend': 'triton' }),
  ),
  rule(
    'gpu-default-flashinfer',
    `${chooser}:333`,
    { ...unset, ...plain, 'packages.flashinfer': true },
    filledIn({ 'attention-backend': 'flashinfer' }),
  ),
  rule(
    'gpu-default-triton',
    `${chooser}:334`,
    { ...unset, ...plain, 'packages.flashinfer': false },
    filledIn({ 'attention-backend': 'triton' }),
  ),
];

/** The first backend that SGLang settles: on a CPU, whatever else is asked. */
export const cpuBackendRules: readonly Rule[] = [
  rule(
    'cpu-backend-default',
    'arg_groups/platform_hook.py:160',
    { device: 'cpu', 'attention-backend': null },
    filledIn({ 'attention-backend': 'intel_amx' }),
  ),
];

/**
 * On Blackwell a hybrid Qwen gets backend and page size together, whatever page size was asked;
 * resolved before the strategy of the prefix cache, so that `auto` counts as no extra buffer here.
 */
export const qwen35BlackwellRules: readonly Rule[] = qwen35OnBlackwell();

function qwen35OnBlackwell(): Rule[] {
  const here = { ...unset, ...blackwell, 'model.architecture': qwen35Architectures };
  const source = 'arg_groups/model_overrides/qwen3_5.py:31';
  // trtllm_mha needs pages, which the prefix cache allows with an extra buffer, without the
  // cache, or (as the code has it) under speculation.
  const paged = [
    { 'speculative-algorithm': null, 'disable-radix-cache': true },
    {
      'speculative-algorithm': null,
      'mamba-radix-cache-strategy': ['extra_buffer', 'extra_buffer_lazy'],
    },
  ];
  const withoutSpeculation = chain.flatMap((when) =>
    paged.map((also) => ({ ...here, ...when, ...also })),
  );
  const withSpeculation = {
    ...here,
    'speculative-algorithm': '!= ~',
    'speculative-eagle-topk': 1,
    'page-size': [null, 1],
  };
  return [
    rule(
      'qwen3.5-blackwell-trtllm',
      source,
      [...withoutSpeculation, withSpeculation],
      rewritten(
        { 'attention-backend': 'trtllm_mha', 'page-size': 64 },
        'on this GPU the model runs trtllm_mha with pages of 64 unless a backend is given',
      ),
    ),
    rule(
      'qwen3.5-blackwell-triton',
      source,
      here,
      rewritten(
        { 'attention-backend': 'triton', 'page-size': 1 },
        'on this GPU the model falls back to triton with pages of 1 unless a backend is given',
      ),
    ),
  ];
}

/** Conditions under which a backend serves prefill; the common flag counts where no own one is given. */
export function prefillRole(backend: string): readonly Record<string, string | null>[] {
  return roleOf('prefill-attention-backend', backend);
}

/** As {@link prefillRole}, for decode. */
export function decodeRole(backend: string): readonly Record<string, string | null>[] {
  return roleOf('decode-attention-backend', backend);
}

function roleOf(own: string, backend: string): readonly Record<string, string | null>[] {
  return [{ [own]: backend }, { [own]: null, 'attention-backend': backend }];
}

const tooOldForTrtllm = [
  { device: ['cpu', 'xpu', 'hpu'] },
  { 'gpu.capability': ['7.0', '7.5', '8.0', '8.6', '8.9'] },
];

/** What a backend makes of other flags, and where it does not run. */
export const attentionRules: readonly Rule[] = [
  rule(
    'no-graphs-in-plain-torch',
    `${hook}:121`,
    { 'attention-backend': ['torch_native', 'flex_attention'] },
    rewritten(
      { 'cuda-graph-backend-decode': 'disabled' },
      'graphs are switched off with this attention backend',
    ),
  ),
  rule(
    'flex-attention-speculation',
    `${hook}:161`,
    { 'attention-backend': 'flex_attention', 'speculative-algorithm': '!= ~' },
    refused('speculative decoding is not supported with flex_attention'),
  ),
  rule(
    'trtllm-mha-page',
    `${passes}:1180`,
    [
      'attention-backend',
      'decode-attention-backend',
      'prefill-attention-backend',
      'speculative-draft-attention-backend',
    ].flatMap((flag) => [
      { [flag]: 'trtllm_mha', 'page-size': null },
      { [flag]: 'trtllm_mha', 'page-size': '< 16' },
      { [flag]: 'trtllm_mha', 'page-size': '> 16', 'page-of-trtllm': null },
    ]),
    rewritten({ 'page-size': 64 }, 'trtllm_mha supports pages of 16, 32, 64 or 128 only'),
    { from: '0.5.23' },
  ),
  rule(
    'trtllm-mha-prefill-gpu',
    `${hook}:203`,
    prefillRole('trtllm_mha').flatMap((role) =>
      tooOldForTrtllm.map((gpu) => ({ ...role, ...gpu })),
    ),
    refused('trtllm_mha for prefill needs a Hopper or Blackwell GPU'),
  ),
  rule(
    'trtllm-mha-workstation-fp8',
    `${hook}:218`,
    prefillRole('trtllm_mha').map((role) => ({
      ...role,
      'gpu.capability': ['12.0', '12.1'],
      'kv-cache-dtype': 'fp8_e4m3',
    })),
    refused('on this GPU trtllm_mha does not read an fp8_e4m3 KV cache for prefill'),
    { from: '0.5.23' },
  ),
  rule(
    'trtllm-mha-decode-gpu',
    `${hook}:225`,
    decodeRole('trtllm_mha').flatMap((role) => tooOldForTrtllm.map((gpu) => ({ ...role, ...gpu }))),
    refused('trtllm_mha for decode needs a Hopper or Blackwell GPU'),
  ),
  rule(
    'fa3-fp8-e5m2',
    `${passes}:1264`,
    { 'attention-backend': 'fa3', 'kv-cache-dtype': 'fp8_e5m2' },
    rewritten({ 'attention-backend': 'triton' }, 'fa3 supports fp8_e4m3 only'),
  ),
  rule(
    'fa4-page',
    `${passes}:1276`,
    [null, 0, 1].map((topk) => ({
      'attention-backend': 'fa4',
      ...plain,
      ...blackwell,
      'speculative-eagle-topk': topk,
    })),
    rewritten({ 'page-size': 128 }, 'fa4 supports pages of 128 only'),
  ),
  rule(
    'amx-missing',
    `${passes}:1302`,
    { 'attention-backend': 'intel_amx', device: 'cpu', 'host.amx': false },
    rewritten({ 'attention-backend': 'torch_native' }, 'this CPU has no AMX'),
  ),
  rule(
    'page-default',
    `${passes}:1341`,
    { 'page-size': null, device: ['cpu', 'cuda'] },
    filledIn({ 'page-size': 1 }),
  ),
];
