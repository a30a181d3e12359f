import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';

const hook = 'arg_groups/speculative_hook.py';

/** Speculation that adapts its depth; `topk-not-one`: a top-k is given and is not 1. */
export const adaptiveRules: readonly Rule[] = [
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
