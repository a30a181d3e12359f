import { type Rule, refused, rewritten, rule } from '../rule.ts';

const parallel = 'arg_groups/parallel_hook.py';
const checks = 'arg_groups/validation_hook.py';

/** Attention data parallelism, resolved once page size and attention backend are settled. */
export const dataParallelRules: readonly Rule[] = [
  rule(
    'attention-dp-divides-tp',
    `${parallel}:326`,
    { 'attn-dp-size': '> 1' },
    refused('--tp-size must be a multiple of --attn-dp-size'),
    { from: '0.5.23', notMultiple: ['tp-size', 'attn-dp-size'] },
  ),
  rule(
    'attention-dp-shares-prefill',
    `${parallel}:318`,
    { 'attn-dp-size': '> 1' },
    rewritten(
      {
        'schedule-conservativeness': { product: ['schedule-conservativeness', 0.3] },
        'chunked-prefill-size': { quotient: ['chunked-prefill-size', 'attn-dp-size'] },
      },
      'each attention data-parallel group takes its share of --chunked-prefill-size, and conservativeness is 0.3 of what is given',
    ),
    { from: '0.5.23' },
  ),
  rule(
    'dp-attention-divides-tp',
    'server_args.py:5574 at 8905cbd',
    { 'enable-dp-attention': true, 'dp-size': '> 1' },
    refused('--tp-size must be a multiple of --dp-size with --enable-dp-attention'),
    { through: '0.5.22', notMultiple: ['tp-size', 'dp-size'] },
  ),
  rule(
    'dp-attention-shares-prefill',
    'server_args.py:5573 at 8905cbd',
    { 'enable-dp-attention': true, 'dp-size': '> 1' },
    rewritten(
      {
        'schedule-conservativeness': { product: ['schedule-conservativeness', 0.3] },
        'chunked-prefill-size': { quotient: ['chunked-prefill-size', 'dp-size'] },
      },
      'under --enable-dp-attention each group takes its share of --chunked-prefill-size, and conservativeness is 0.3 of what is given',
    ),
    { through: '0.5.22' },
  ),
  rule(
    'pipeline-no-overlap',
    'arg_groups/overrides.py:1625',
    { 'pp-size': '> 1' },
    rewritten(
      { 'disable-overlap-schedule': true },
      'pipeline parallelism switches the overlap schedule off',
    ),
  ),
];

const noDisaggregation = { 'disaggregation-mode': [null, 'null', 'decode'] };

/** Checks of pipeline parallelism, the first of the resolved values. */
export const pipelineChecks: readonly Rule[] = [
  rule(
    'pipeline-eagle-only',
    `${checks}:133`,
    [
      { 'pp-size': '> 1', 'speculative-algorithm': ['EAGLE3', 'STANDALONE', 'NGRAM', 'DFLASH'] },
      { 'pp-size': '> 1', 'speculative-algorithm': 'EAGLE', 'enable-multi-layer-eagle': true },
    ],
    refused('pipeline parallelism supports EAGLE speculation only'),
  ),
  rule(
    'pipeline-speculation',
    `${checks}:161`,
    { 'pp-size': '> 1', 'speculative-algorithm': 'EAGLE', ...noDisaggregation },
    refused('pipeline parallelism with speculation runs on prefill nodes only'),
  ),
];

/** The last check of all. */
export const twoBatchChecks: readonly Rule[] = [
  rule(
    'two-batches-need-attention-dp',
    `${checks}:768`,
    {
      'enable-two-batch-overlap': true,
      'moe-a2a-backend': [null, 'none'],
      'attn-dp-size': '<= 1',
      'enable-dp-attention': null,
    },
    refused('--enable-two-batch-overlap needs an --moe-a2a-backend or attention data parallelism'),
  ),
];
