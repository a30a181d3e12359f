import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';
import { denseArchitectures, hybridArchitectures, withoutExtraBuffer } from './models.ts';

const hook = 'arg_groups/mamba_hook.py';
const extraBuffer = ['extra_buffer', 'extra_buffer_lazy'];
const hybrid = { 'uses-mamba-radix-cache': true };

/** Prefix cache of hybrid models: which strategy, and what it asks of the other flags. */
export const mambaStrategyRules: readonly Rule[] = [
  rule(
    'hybrid-prefix-cache',
    'arg_groups/overrides.py:470',
    { 'model.architecture': hybridArchitectures, 'disable-radix-cache': null },
    filledIn({ 'uses-mamba-radix-cache': true }),
  ),
  rule(
    'extra-buffer-not-here',
    'arg_groups/overrides.py:438',
    [{ 'model.architecture': withoutExtraBuffer }, { 'linear-attn-backend': '!= triton' }],
    filledIn({ 'no-extra-buffer': true }),
  ),
  rule(
    'mamba-auto-extra-buffer',
    'arg_groups/overrides.py:479',
    [
      {
        ...hybrid,
        'mamba-radix-cache-strategy': 'auto',
        'no-extra-buffer': null,
        'disable-overlap-schedule': null,
      },
      {
        ...hybrid,
        'mamba-radix-cache-strategy': 'auto',
        'no-extra-buffer': null,
        'page-size': '> 1',
      },
    ],
    filledIn({ 'mamba-radix-cache-strategy': 'extra_buffer' }),
  ),
  rule(
    'mamba-auto-no-buffer',
    'arg_groups/overrides.py:485',
    { ...hybrid, 'mamba-radix-cache-strategy': 'auto' },
    rewritten(
      { 'mamba-radix-cache-strategy': 'no_buffer', 'disable-overlap-schedule': true },
      'without an extra buffer the overlap schedule is switched off, without a message',
    ),
  ),
  rule(
    'strategy-needs-state',
    'arg_groups/model_hook.py:1063',
    {
      'model.architecture': denseArchitectures,
      'disable-radix-cache': null,
      'mamba-radix-cache-strategy': extraBuffer,
    },
    refused('--mamba-radix-cache-strategy needs a model with recurrent state'),
    { from: '0.5.23' },
  ),
  rule(
    'extra-buffer-unsupported',
    `${hook}:117`,
    { ...hybrid, 'mamba-radix-cache-strategy': extraBuffer, 'no-extra-buffer': true },
    refused('extra_buffer is not supported for this model and linear attention backend'),
  ),
  rule(
    'extra-buffer-needs-gpu',
    `${hook}:120`,
    { ...hybrid, 'mamba-radix-cache-strategy': extraBuffer, device: ['cpu', 'hpu', 'xpu'] },
    refused('extra_buffer needs a GPU: use no_buffer with --disable-overlap-schedule'),
  ),
  rule(
    'extra-buffer-lazy-needs-overlap',
    'mem_cache/kv_cache_configurator.py:1587 at 8905cbd',
    {
      ...hybrid,
      'mamba-radix-cache-strategy': 'extra_buffer_lazy',
      'disable-overlap-schedule': true,
    },
    {
      kind: 'illegal',
      at: 'loading',
      reason: 'extra_buffer_lazy needs the overlap schedule',
    },
  ),
];

/** What the chosen strategy asks of draft tokens and page size; checked before and after the page size is settled. */
export const mambaValidationRules: readonly Rule[] = [
  rule(
    'track-interval-holds-draft',
    `${hook}:133`,
    {
      ...hybrid,
      'mamba-radix-cache-strategy': extraBuffer,
      'mamba-track-interval': '< speculative-num-draft-tokens',
    },
    refused('--mamba-track-interval must be at least --speculative-num-draft-tokens'),
  ),
  rule(
    'track-interval-in-pages',
    `${hook}:135`,
    { ...hybrid, 'mamba-radix-cache-strategy': extraBuffer, 'page-size': '>= 1' },
    refused('--mamba-track-interval must be a multiple of --page-size'),
    { notMultiple: ['mamba-track-interval', 'page-size'] },
  ),
  rule(
    'chunk-of-64-in-pages',
    'arg_groups/overrides.py:1918',
    { ...hybrid, 'mamba-radix-cache-strategy': extraBuffer, 'page-size': '< 64' },
    refused('64 must be a multiple of --page-size for a hybrid model'),
    { notMultiple: ['fla-chunk', 'page-size'] },
  ),
  rule(
    'pages-in-chunks-of-64',
    'arg_groups/overrides.py:1918',
    { ...hybrid, 'mamba-radix-cache-strategy': extraBuffer, 'page-size': '>= 64' },
    refused('--page-size must be a multiple of 64 for a hybrid model'),
    { notMultiple: ['page-size', 'fla-chunk'] },
  ),
  rule(
    'no-buffer-page',
    `${hook}:157`,
    { ...hybrid, 'mamba-radix-cache-strategy': 'no_buffer', 'page-size': '> 1' },
    refused('no_buffer only supports --page-size 1'),
  ),
  rule(
    'no-buffer-overlap',
    `${hook}:158`,
    {
      ...hybrid,
      'mamba-radix-cache-strategy': 'no_buffer',
      'disable-overlap-schedule': null,
    },
    refused('no_buffer needs --disable-overlap-schedule'),
  ),
  rule(
    'no-buffer-trtllm',
    `${hook}:161`,
    {
      ...hybrid,
      'mamba-radix-cache-strategy': 'no_buffer',
      'attention-backend': 'trtllm_mha',
    },
    refused('no_buffer does not support the trtllm_mha attention backend'),
  ),
];

const linear = 'arg_groups/attention_hook.py';
const blackwell = { 'gpu.capability': ['10.0', '10.3'] };

/** Kernels of linear attention. */
export const linearAttentionRules: readonly Rule[] = [
  rule(
    'linear-decode-flashinfer-default',
    `${linear}:270`,
    {
      ...blackwell,
      'linear-attn-decode-backend': null,
      'linear-attn-backend': '!= helion',
      'mamba-ssm-dtype': 'bfloat16',
    },
    filledIn({ 'linear-attn-decode-backend': 'flashinfer' }),
  ),
  rule(
    'linear-decode-given',
    `${linear}:291`,
    { 'linear-attn-decode-backend': '!= ~' },
    filledIn({ 'linear-decode': { copy: 'linear-attn-decode-backend' } }),
  ),
  rule(
    'linear-decode-inherited',
    `${linear}:291`,
    { 'linear-attn-decode-backend': null },
    filledIn({ 'linear-decode': { copy: 'linear-attn-backend' } }),
  ),
  rule(
    'linear-decode-flashinfer-dtype',
    `${linear}:341`,
    {
      // Any capability from 10.0 on: workstation Blackwell, too.
      'gpu.capability': ['10.0', '10.3', '11.0', '12.0', '12.1'],
      'linear-decode': 'flashinfer',
      'mamba-ssm-dtype': '!= bfloat16',
    },
    refused('flashinfer linear attention needs --mamba-ssm-dtype bfloat16 on this GPU'),
  ),
  rule(
    'replayssm-decode',
    `${linear}:411`,
    { 'enable-linear-replayssm': true, 'linear-decode': ['flashinfer', 'cutedsl', 'flashkda'] },
    refused('--enable-linear-replayssm needs the triton linear attention decode backend'),
  ),
  rule(
    'replayssm-extra-buffer',
    `${linear}:418`,
    {
      'enable-linear-replayssm': true,
      'disable-radix-cache': null,
      'mamba-radix-cache-strategy': extraBuffer,
    },
    refused('--enable-linear-replayssm needs --mamba-radix-cache-strategy no_buffer'),
  ),
  rule(
    'replayssm-spec-chain',
    `${linear}:452`,
    {
      'enable-linear-replayssm-spec': true,
      'speculative-eagle-topk': '!= ~',
      'topk-not-one': true,
    },
    refused('--enable-linear-replayssm-spec needs --speculative-eagle-topk 1'),
  ),
  rule(
    'replayssm-spec-decode',
    `${linear}:458`,
    { 'enable-linear-replayssm-spec': true, 'linear-decode': ['cutedsl', 'flashkda', 'helion'] },
    refused('--enable-linear-replayssm-spec needs triton or flashinfer for decode'),
  ),
  rule(
    'replayssm-both',
    `${linear}:500`,
    { 'enable-linear-replayssm-spec': true, 'enable-linear-replayssm': true },
    refused('--enable-linear-replayssm and --enable-linear-replayssm-spec exclude each other'),
  ),
  rule(
    'replayssm-spec-dtype',
    `${linear}:507`,
    { 'enable-linear-replayssm-spec': true, 'mamba-ssm-dtype': null },
    filledIn({ 'mamba-ssm-dtype': 'float32' }),
  ),
];
