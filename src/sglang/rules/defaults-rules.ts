import { filledIn, type Rule, rewritten, rule } from '../rule.ts';

const memory = 'arg_groups/memory_hook.py';
const graphs = 'arg_groups/cuda_graph_hook.py';

/** Defaults that depend on memory, and CUDA graph settings; the first that SGLang resolves. */
export const defaultsRules: readonly Rule[] = [
  rule(
    'nextn-is-eagle',
    'arg_groups/speculative_hook.py:81',
    { 'speculative-algorithm': 'NEXTN' },
    {
      kind: 'rewrite',
      set: { 'speculative-algorithm': 'EAGLE' },
      reason: 'NEXTN is another name of EAGLE',
      silent: true,
    },
  ),
  rule(
    'chunk-default-2048',
    `${memory}:90`,
    { 'chunked-prefill-size': null, 'device.memory_gib': '< 20' },
    filledIn({ 'chunked-prefill-size': 2048 }),
  ),
  rule(
    'chunk-default-4096',
    `${memory}:101`,
    { 'chunked-prefill-size': null, 'device.memory_gib': '< 60' },
    filledIn({ 'chunked-prefill-size': 4096 }),
  ),
  rule(
    'chunk-default-8192',
    `${memory}:130`,
    { 'chunked-prefill-size': null, 'device.memory_gib': '< 160' },
    filledIn({ 'chunked-prefill-size': 8192 }),
  ),
  rule(
    'chunk-default-16384',
    `${memory}:157`,
    { 'chunked-prefill-size': null, 'device.memory_gib': '>= 160' },
    filledIn({ 'chunked-prefill-size': 16384 }),
  ),
  rule(
    'decode-graph-off',
    `${graphs}:64`,
    { 'disable-decode-cuda-graph': true, 'cuda-graph-backend-decode': null },
    filledIn({ 'cuda-graph-backend-decode': 'disabled' }),
  ),
  rule(
    'decode-graph-default',
    `${graphs}:40`,
    { 'cuda-graph-backend-decode': null },
    filledIn({ 'cuda-graph-backend-decode': 'full' }),
  ),
  rule(
    'decode-graph-size-is-default',
    `${memory}:82`,
    { 'cuda-graph-max-bs-decode': null, 'cuda-graph-bs-decode': null },
    filledIn({ 'decode-graph-size-is-default': true }),
  ),
  ...graphSizes(),
  rule(
    'graph-size-within-limit',
    `${memory}:168`,
    {
      'decode-graph-size-is-default': true,
      'max-running-requests': '< cuda-graph-max-bs-decode',
    },
    filledIn({ 'cuda-graph-max-bs-decode': { copy: 'max-running-requests' } }),
  ),
  rule(
    'graph-size-from-list',
    `${memory}:190`,
    { 'cuda-graph-bs-decode': '!= ~' },
    rewritten(
      { 'cuda-graph-max-bs-decode': { maximumOf: 'cuda-graph-bs-decode' } },
      'the largest size of the list counts',
    ),
  ),
  rule(
    'cpu-graph-size-given',
    `${memory}:223`,
    { device: 'cpu', 'cuda-graph-bs-decode': null, 'torch-compile-max-bs': '> 0' },
    rewritten(
      { 'cuda-graph-max-bs-decode': { copy: 'torch-compile-max-bs' } },
      'on a CPU the size of graphs is that of --torch-compile-max-bs',
    ),
  ),
  rule(
    'cpu-graph-size',
    `${memory}:223`,
    { device: 'cpu', 'cuda-graph-bs-decode': null, 'torch-compile-max-bs': null },
    rewritten(
      { 'cuda-graph-max-bs-decode': 32 },
      'on a CPU the size of graphs is that of --torch-compile-max-bs (32)',
    ),
  ),
];

/** Largest captured decode batch by memory: below tensor parallelism 4, and from it on. */
function graphSizes(): Rule[] {
  const sizes = [
    ['< 20', 8, 8],
    ['< 35', 48, 160],
    ['< 60', 32, 160],
    ['< 160', 256, 512],
    ['>= 160', 512, 512],
  ] as const;
  return sizes.flatMap(([gib, small, large]) =>
    (
      [
        ['< 4', small],
        ['>= 4', large],
      ] as const
    ).map(([tp, size]) =>
      rule(
        `graph-size ${gib} GiB tp ${tp}`
          .replaceAll('<', 'below')
          .replaceAll('>=', 'from')
          .replaceAll(' ', '-'),
        `${memory}:94`,
        {
          'decode-graph-size-is-default': true,
          'cuda-graph-max-bs-decode': null,
          'device.memory_gib': gib,
          'tp-size': tp,
        },
        filledIn({ 'cuda-graph-max-bs-decode': size }),
      ),
    ),
  );
}
