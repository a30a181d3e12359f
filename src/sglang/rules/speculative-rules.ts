import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';
import { adaptiveRules } from './adaptive-rules.ts';
import { decodeRole, prefillRole } from './attention-rules.ts';

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

const limits: readonly Rule[] = [
  rule(
    'unknown-algorithm',
    'speculative/spec_info.py:65',
    { 'algorithm-unknown': true },
    refused('unknown --speculative-algorithm (neither built in nor an installed plugin)'),
  ),
  rule(
    'standalone-attention-dp',
    `${hook}:1082`,
    { 'speculative-algorithm': 'STANDALONE', 'attn-dp-size': '> 1' },
    refused('STANDALONE does not support --attn-dp-size above 1'),
    { from: '0.5.23' },
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
    'trtllm-topk-missing',
    `${hook}:1177`,
    [...prefillRole('trtllm_mha'), ...decodeRole('trtllm_mha')].map((role) => ({
      ...eagle,
      ...role,
      'speculative-num-steps': '!= ~',
      'speculative-eagle-topk': null,
    })),
    refused(
      '--speculative-num-steps needs --speculative-eagle-topk (SGLang stops with a TypeError)',
    ),
  ),
  rule(
    'trtllm-tree',
    `${hook}:1178`,
    [...prefillRole('trtllm_mha'), ...decodeRole('trtllm_mha')].map((role) => ({
      ...eagle,
      ...role,
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
    'topk-missing',
    `${hook}:1274`,
    { ...eagle, 'speculative-num-steps': '!= ~', 'speculative-eagle-topk': null },
    refused(
      '--speculative-num-steps needs --speculative-eagle-topk (SGLang stops with a TypeError)',
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
  rule(
    'ngram-attention-dp',
    `${hook}:1369`,
    { ...ngram, 'attn-dp-size': '> 1' },
    refused('NGRAM does not support --attn-dp-size above 1'),
    { from: '0.5.23' },
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
