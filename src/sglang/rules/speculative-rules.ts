import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';

const hook = 'arg_groups/speculative_hook.py';
const eagle = { 'speculative-algorithm': ['EAGLE', 'EAGLE3', 'STANDALONE'] };
const ngram = { 'speculative-algorithm': 'NGRAM' };
const limited = { 'speculative-algorithm': ['EAGLE', 'EAGLE3', 'STANDALONE', 'NGRAM'] };
const knownAlgorithms = [
  null,
  'EAGLE',
  'EAGLE3',
  'STANDALONE',
  'NGRAM',
  'DFLASH',
  'DSPARK',
  'FROZEN_KV_MTP',
  'UNO',
  'NONE',
];

/** Speculation that adapts its depth; `topk-not-one`: a top-k is given and is not 1. */
const adaptiveRules: readonly Rule[] = [
  rule(
    'adaptive-off',
    `${hook}:1374`,
    [
      {
        'speculative-adaptive': true,
        'speculative-algorithm': [null, 'NGRAM', 'STANDALONE', 'DFLASH', 'DSPARK'],
      },
      { 'speculative-adaptive': true, 'topk-not-one': true },
      { 'speculative-adaptive': true, 'enable-two-batch-overlap': true },
      { 'speculative-adaptive': true, 'enable-multi-layer-eagle': true },
    ],
    rewritten(
      { 'speculative-adaptive': null },
      'adaptive speculation is dropped: EAGLE with top-k 1 only',
    ),
  ),
  rule(
    'adaptive-topk',
    `${hook}:1402`,
    { 'speculative-adaptive': true, 'speculative-eagle-topk': null },
    filledIn({ 'speculative-eagle-topk': 1 }),
  ),
  rule(
    'adaptive-steps',
    `${hook}:1409`,
    {
      'speculative-adaptive': true,
      'speculative-num-steps': null,
      'speculative-adaptive-config': null,
    },
    filledIn({ 'speculative-num-steps': 3 }),
  ),
  // The default candidates are 0, 1, 3, 5 and 7 (speculative/adaptive_spec_params.py:30).
  rule(
    'adaptive-candidates',
    `${hook}:1417`,
    [2, 4, 6, '> 7', '< 0'].map((steps) => ({
      'speculative-adaptive': true,
      'speculative-adaptive-config': null,
      'speculative-num-steps': steps,
    })),
    refused('adaptive speculation takes --speculative-num-steps 0, 1, 3, 5 or 7'),
    { from: '0.5.23' },
  ),
  rule(
    'adaptive-draft-tokens',
    `${hook}:1423`,
    { 'speculative-adaptive': true },
    rewritten(
      { 'speculative-num-draft-tokens': { copy: 'speculative-num-steps', plus: 1 } },
      'adaptive speculation verifies steps + 1 tokens',
    ),
  ),
];

const limits: readonly Rule[] = [
  rule(
    'unknown-algorithm',
    'speculative/spec_info.py:65',
    { 'algorithm-unknown': true },
    refused('unknown --speculative-algorithm (neither built in nor an installed plugin)'),
  ),
  rule(
    'running-limit-48',
    `${hook}:1089`,
    { ...limited, 'max-running-requests': null },
    rewritten(
      { 'max-running-requests': 48 },
      'speculation limits running requests to 48 unless --max-running-requests is given',
    ),
  ),
  rule(
    'cpu-no-overlap',
    `${hook}:66`,
    { ...limited, device: 'cpu' },
    rewritten(
      { 'disable-overlap-schedule': true },
      'no overlap schedule under speculation on a CPU',
    ),
  ),
  rule(
    'no-mixed-chunk',
    'arg_groups/speculative_hook.py:521 at 8905cbd',
    { ...limited, 'enable-mixed-chunk': true },
    rewritten({ 'enable-mixed-chunk': null }, 'mixed chunks are switched off under speculation'),
    { through: '0.5.22' },
  ),
  rule(
    'no-mixed-chunk-but-eagle',
    `${hook}:1112`,
    { 'speculative-algorithm': ['STANDALONE', 'NGRAM'], 'enable-mixed-chunk': true },
    rewritten({ 'enable-mixed-chunk': null }, 'mixed chunks are switched off with this algorithm'),
    { from: '0.5.23' },
  ),
];

const eagleRules: readonly Rule[] = [
  rule(
    'steps-missing',
    `${hook}:1162`,
    [
      { ...eagle, 'speculative-num-steps': null, 'speculative-eagle-topk': '!= ~' },
      { ...eagle, 'speculative-num-steps': null, 'speculative-num-draft-tokens': '!= ~' },
    ],
    refused(
      '--speculative-eagle-topk and --speculative-num-draft-tokens need --speculative-num-steps (SGLang stops with an empty AssertionError)',
    ),
  ),
  rule(
    'llama-defaults',
    `${hook}:1440`,
    {
      'speculative-algorithm': ['EAGLE', 'EAGLE3'],
      'speculative-num-steps': null,
      'model.architecture': ['LlamaForCausalLM', 'Grok1ForCausalLM', 'Grok1VForCausalLM'],
    },
    filledIn({
      'speculative-num-steps': 5,
      'speculative-eagle-topk': 4,
      'speculative-num-draft-tokens': 8,
    }),
  ),
  rule(
    'speculation-defaults',
    `${hook}:1465`,
    { ...eagle, 'speculative-num-steps': null },
    filledIn({
      'speculative-num-steps': 3,
      'speculative-eagle-topk': 1,
      'speculative-num-draft-tokens': 4,
    }),
  ),
  rule(
    'topk-missing',
    `${hook}:1274`,
    { ...eagle, 'speculative-num-steps': '!= ~', 'speculative-eagle-topk': null },
    refused(
      '--speculative-num-steps needs --speculative-eagle-topk (SGLang stops with a TypeError)',
    ),
  ),
  rule(
    'trtllm-tree',
    `${hook}:1178`,
    ['attention-backend', 'prefill-attention-backend', 'decode-attention-backend'].map((flag) => ({
      ...eagle,
      [flag]: 'trtllm_mha',
      'speculative-eagle-topk': '> 1',
    })),
    refused('trtllm_mha supports --speculative-eagle-topk 1 only'),
  ),
  rule(
    'rejection-sampling-algorithm',
    `${hook}:1216`,
    { 'speculative-algorithm': 'STANDALONE', 'speculative-use-rejection-sampling': true },
    refused('--speculative-use-rejection-sampling is for EAGLE, EAGLE3 and NEXTN'),
  ),
  rule(
    'rejection-sampling-topk',
    `${hook}:1222`,
    { ...eagle, 'speculative-use-rejection-sampling': true, 'speculative-eagle-topk': '!= 1' },
    refused('--speculative-use-rejection-sampling needs --speculative-eagle-topk 1'),
  ),
  rule(
    'rejection-sampling-thresholds',
    `${hook}:1235`,
    [
      {
        ...eagle,
        'speculative-use-rejection-sampling': true,
        'speculative-accept-threshold-single': '!= 1',
      },
      {
        ...eagle,
        'speculative-use-rejection-sampling': true,
        'speculative-accept-threshold-acc': '!= 1',
      },
    ],
    refused('--speculative-use-rejection-sampling ignores accept thresholds: leave them out'),
  ),
  rule(
    'draft-tokens-at-topk-1',
    `${hook}:1256`,
    { ...eagle, 'speculative-eagle-topk': 1 },
    rewritten(
      { 'speculative-num-draft-tokens': { copy: 'speculative-num-steps', plus: 1 } },
      'at --speculative-eagle-topk 1 the draft tokens are steps + 1, whatever is given',
    ),
  ),
  rule(
    'tree-with-pages',
    `${hook}:1278`,
    {
      ...eagle,
      'speculative-eagle-topk': '> 1',
      'page-size': '> 1',
      'attention-backend-pages-trees': null,
    },
    refused('--speculative-eagle-topk above 1 with pages needs flashinfer, fa3 or triton'),
  ),
  rule(
    'draft-tokens-above-topk-1',
    'managers/tokenizer_manager.py:349 at 8905cbd',
    { ...eagle, 'speculative-eagle-topk': '> 1', 'speculative-num-draft-tokens': null },
    {
      kind: 'illegal',
      at: 'loading',
      reason: '--speculative-eagle-topk above 1 needs --speculative-num-draft-tokens',
    },
  ),
  rule(
    'more-draft-tokens-than-tree',
    'speculative/eagle_utils.py:110',
    { ...eagle, 'speculative-eagle-topk': '> 1', 'speculative-num-draft-tokens': '> tree-nodes' },
    {
      kind: 'illegal',
      at: 'serving',
      reason:
        'the draft tree has fewer nodes (topk + (steps - 1) x topk^2, and the root) than --speculative-num-draft-tokens',
    },
  ),
];

const ngramRules: readonly Rule[] = [
  rule(
    'ngram-breadth',
    `${hook}:1312`,
    ngram,
    rewritten(
      { 'speculative-eagle-topk': { copy: 'speculative-ngram-max-bfs-breadth' } },
      'NGRAM takes its top-k from --speculative-ngram-max-bfs-breadth',
    ),
  ),
  rule(
    'ngram-draft-tokens',
    `${hook}:1317`,
    { ...ngram, 'speculative-num-draft-tokens': null },
    filledIn({ 'speculative-num-draft-tokens': 12 }),
  ),
  rule(
    'ngram-steps',
    `${hook}:1324`,
    { ...ngram, 'speculative-num-steps': null },
    filledIn({
      'speculative-num-steps': {
        quotient: ['speculative-num-draft-tokens', 'speculative-eagle-topk'],
      },
    }),
  ),
  rule(
    'ngram-pages',
    `${hook}:1361`,
    {
      ...ngram,
      'speculative-eagle-topk': '> 1',
      'page-size': '> 1',
      'attention-backend': '!= flashinfer',
    },
    refused('NGRAM with a breadth above 1 and pages needs the flashinfer attention backend'),
  ),
];

/** The algorithms that `unknown-algorithm` lets pass. */
export const speculativeAlgorithms: readonly (string | null)[] = knownAlgorithms;

/** Speculative decoding, in the order of handle_speculative_decoding. */
export const speculativeRules: readonly Rule[] = [
  ...adaptiveRules,
  ...limits,
  ...eagleRules,
  ...ngramRules,
];
