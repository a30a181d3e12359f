import { type Rule, refused, rule } from '../rule.ts';

const checks = 'arg_groups/validation_hook.py';

/** Checks that end resolution. */
export const cacheChecks: readonly Rule[] = [
  rule(
    'hierarchical-cache-needs-cache',
    'arg_groups/kv_cache_hook.py:394',
    { 'enable-hierarchical-cache': true, 'disable-radix-cache': true },
    refused('--enable-hierarchical-cache and --disable-radix-cache exclude each other'),
  ),
];

/** Checks of the resolved values, last before the launch. */
export const finalChecks: readonly Rule[] = [
  rule(
    'padding-and-compile',
    `${checks}:188`,
    { 'disable-cuda-graph-padding': true, 'enable-torch-compile': true },
    refused('--disable-cuda-graph-padding is incompatible with --enable-torch-compile'),
  ),
  rule(
    'chunk-in-pages',
    `${checks}:244`,
    { 'chunked-prefill-size': '> 0' },
    refused('--chunked-prefill-size must be a multiple of --page-size'),
    { notMultiple: ['chunked-prefill-size', 'page-size'] },
  ),
  rule(
    'priority-policy',
    `${checks}:282`,
    {
      'enable-priority-scheduling': true,
      'schedule-policy': ['lpm', 'random', 'dfs-weight', 'routing-key', 'priority'],
    },
    refused('--enable-priority-scheduling needs --schedule-policy fcfs or lof'),
  ),
  rule(
    'priority-retraction',
    `${checks}:304`,
    { 'retraction-policy': 'priority', 'enable-priority-scheduling': null },
    refused('--retraction-policy priority needs --enable-priority-scheduling'),
  ),
  rule(
    'negative-conservativeness',
    `${checks}:314`,
    { 'schedule-conservativeness': '< 0' },
    refused('--schedule-conservativeness must not be negative'),
  ),
  rule(
    'policy-not-implemented',
    'managers/schedule_policy.py:147 at 8905cbd',
    { 'schedule-policy': 'priority' },
    {
      kind: 'illegal',
      at: 'loading',
      reason: 'no scheduler implements --schedule-policy priority',
    },
  ),
];

const speculativeFlags = [
  'speculative-num-steps',
  'speculative-eagle-topk',
  'speculative-num-draft-tokens',
  'speculative-draft-model-path',
  'speculative-adaptive',
  'speculative-use-rejection-sampling',
  'speculative-accept-threshold-single',
  'speculative-accept-threshold-acc',
  'speculative-attention-mode',
  'speculative-token-map',
];

const deadFlags = ['num-continuous-decode-steps', 'triton-attention-reduce-in-fp32'];

/** Flags without effect and flags that pull at each other: remarks, no verdicts. */
export const remarkRules: readonly Rule[] = [
  ...deadFlags.map((flag) =>
    rule(
      `dead-${flag}`,
      'server_args.py: no reader',
      { [flag]: '!= ~' },
      {
        kind: 'inert',
        flags: [flag],
        reason: 'nothing in this version reads the flag',
      },
    ),
  ),
  rule(
    'speculation-off',
    'arg_groups/speculative_hook.py:121',
    { 'speculative-algorithm': null },
    {
      kind: 'inert',
      flags: speculativeFlags,
      reason: 'without --speculative-algorithm it has no effect',
    },
  ),
  rule(
    'graphs-off',
    'model_executor/runner/decode_cuda_graph_runner.py',
    { 'cuda-graph-backend-decode': 'disabled' },
    {
      kind: 'inert',
      flags: ['cuda-graph-max-bs-decode', 'cuda-graph-bs-decode', 'disable-cuda-graph-padding'],
      reason: 'decode graphs are switched off',
    },
  ),
  rule(
    'fused-sum-needs-triton',
    'layers/moe/moe_runner/triton_utils/fused_moe.py:502 at 8905cbd',
    {
      'enable-fused-moe-sum-all-reduce': true,
      'moe-runner-backend': [
        'deep_gemm',
        'flashinfer_trtllm',
        'flashinfer_cutlass',
        'cutlass',
        'marlin',
        'aiter',
        'flashinfer_cutedsl',
      ],
    },
    {
      kind: 'inert',
      flags: ['enable-fused-moe-sum-all-reduce'],
      reason: 'only the triton MoE runner reads it',
    },
  ),
  rule(
    'lpm-without-cache',
    'managers/schedule_policy.py:237 at 8905cbd',
    { 'schedule-policy': ['lpm', 'dfs-weight'], 'disable-radix-cache': true },
    {
      kind: 'inert',
      flags: ['schedule-policy'],
      reason: 'without the prefix cache the policy is fcfs',
    },
  ),
  rule(
    'spec-v2-variable',
    'speculative_hook.py:83 at 8905cbd',
    { 'env.SGLANG_ENABLE_SPEC_V2': '!= ~' },
    {
      kind: 'inert',
      flags: ['env.SGLANG_ENABLE_SPEC_V2'],
      reason: 'the variable was removed: the server ignores it',
    },
  ),
  rule(
    'graph-below-limit',
    'model_executor/runner/base_cuda_graph_runner.py:58 at 8905cbd',
    { 'max-running-requests': '> cuda-graph-max-bs-decode', 'cuda-graph-backend-decode': 'full' },
    {
      kind: 'coupled',
      flags: ['max-running-requests', 'cuda-graph-max-bs-decode'],
      reason: 'batches above the largest captured size decode without a graph',
    },
  ),
  rule(
    'draft-and-state-cache',
    'mem_cache/kv_cache_configurator.py:1757 at 8905cbd',
    { 'uses-mamba-radix-cache': true, 'speculative-num-draft-tokens': '> 1' },
    {
      kind: 'coupled',
      flags: ['speculative-num-draft-tokens', 'max-running-requests'],
      reason: 'each draft token takes state cache: deeper speculation lowers the running limit',
    },
  ),
];
