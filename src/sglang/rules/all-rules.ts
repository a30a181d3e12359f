import type { Rule } from '../rule.ts';
import {
  attentionDefaultRules,
  attentionRules,
  cpuBackendRules,
  qwen35BlackwellRules,
} from './attention-rules.ts';
import { cacheChecks, finalChecks, remarkRules } from './check-rules.ts';
import { defaultsRules } from './defaults-rules.ts';
import { deterministicRules } from './deterministic-rules.ts';
import { linearAttentionRules, mambaStrategyRules, mambaValidationRules } from './mamba-rules.ts';
import { dataParallelRules, pipelineChecks, twoBatchChecks } from './parallel-rules.ts';
import { speculativeRules } from './speculative-rules.ts';

/**
 * All rules, in the order in which SGLang resolves its flags (arg_groups/pipeline.py at 0.5.23):
 * a rule sees what the ones before it wrote. Compared with SGLang's own code on ten thousand random
 * combinations (test/unit/sglang/resolution.test.ts).
 */
export const allRules: readonly Rule[] = [
  ...defaultsRules,
  ...cpuBackendRules,
  ...qwen35BlackwellRules,
  ...mambaStrategyRules,
  ...mambaValidationRules,
  ...deterministicRules,
  ...attentionDefaultRules,
  ...attentionRules,
  ...linearAttentionRules,
  ...dataParallelRules,
  ...speculativeRules,
  ...cacheChecks,
  ...pipelineChecks,
  ...finalChecks,
  ...twoBatchChecks,
  ...remarkRules,
];
