import { filledIn, type Rule, refused, rewritten, rule } from '../rule.ts';
import { latentAttentionArchitectures } from './models.ts';

const passes = 'arg_groups/overrides.py';
const hook = 'arg_groups/attention_hook.py';
const deterministic = { 'enable-deterministic-inference': true };
const unset = { ...deterministic, 'attention-backend': null };
const blackwell = ['10.0', '10.3', '12.0', '12.1'];
const olderGpus = ['7.5', '8.0', '8.6', '8.9', '9.0'];
const deepseek = latentAttentionArchitectures.filter((name) => name !== 'MiniCPM3ForCausalLM');

/** `--enable-deterministic-inference`: which backends it runs with, and what it costs. */
export const deterministicRules: readonly Rule[] = [
  rule(
    'deterministic-blackwell-deepseek',
    `${passes}:1105`,
    { ...unset, 'gpu.capability': blackwell, 'model.architecture': deepseek },
    filledIn({ 'attention-backend': 'triton' }),
  ),
  rule(
    'deterministic-blackwell',
    `${passes}:1108`,
    { ...unset, 'gpu.capability': blackwell },
    filledIn({ 'attention-backend': 'flashinfer' }),
  ),
  rule(
    'deterministic-older-gpu',
    `${passes}:1111`,
    { ...unset, 'gpu.capability': olderGpus },
    filledIn({ 'attention-backend': 'fa3' }),
  ),
  rule(
    'deterministic-backends',
    `${passes}:1119`,
    {
      ...deterministic,
      'attention-backend': [
        'aiter',
        'cutedsl_mla',
        'dsa',
        'dsv4',
        'flashmla',
        'flex_attention',
        'intel_amx',
        'nsa',
        'tokenspeed_mla',
        'torch_native',
        'trtllm_mha',
        'trtllm_mla',
        'wave',
      ],
    },
    refused('--enable-deterministic-inference runs with fa3, fa4, flashinfer or triton only'),
  ),
  rule(
    'deterministic-deepseek-backends',
    `${hook}:645`,
    { ...deterministic, 'model.architecture': deepseek, 'attention-backend': 'flashinfer' },
    refused('for this model --enable-deterministic-inference runs with fa3, fa4 or triton only'),
  ),
  rule(
    'deterministic-no-prefix-cache',
    `${hook}:657`,
    { ...deterministic, 'attention-backend': ['flashinfer', 'intel_xpu'] },
    rewritten(
      { 'disable-radix-cache': true },
      'deterministic inference with this attention backend runs without the prefix cache',
    ),
  ),
];
