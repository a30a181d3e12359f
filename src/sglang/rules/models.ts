/** Hybrid models whose prefix cache keeps recurrent state. overrides.py:374 at 0.5.23. */
export const hybridArchitectures = [
  'KimiLinearForCausalLM',
  'KimiK3ForConditionalGeneration',
  'BailingMoeV2_5ForCausalLM',
  'BailingMoeV3ForCausalLM',
  'Qwen3NextForCausalLM',
  'Qwen3_5MoeForConditionalGeneration',
  'Qwen3_5ForConditionalGeneration',
  'Qwen3_5MoeForCausalLM',
  'Qwen3_5ForCausalLM',
  'Qwen4ExpForConditionalGeneration',
  'NemotronHForCausalLM',
  'FalconH1ForCausalLM',
  'JetNemotronForCausalLM',
  'Lfm2ForCausalLM',
  'Lfm2MoeForCausalLM',
];

/** Of those, the ones that have no `extra_buffer` strategy. overrides.py:401 at 0.5.23. */
export const withoutExtraBuffer = [
  'JetNemotronForCausalLM',
  'Lfm2ForCausalLM',
  'Lfm2MoeForCausalLM',
];

/** Models whose attention backend and page size are chosen apart on Blackwell. model_overrides/qwen3_5.py:16. */
export const qwen35Architectures = [
  'Qwen3NextForCausalLM',
  'Qwen3_5MoeForConditionalGeneration',
  'Qwen3_5ForConditionalGeneration',
];

/** Plain attention with keys and values per head (not MLA), so that backend defaults are known. */
export const plainAttentionArchitectures = [
  ...hybridArchitectures.filter((name) => /^(?:Qwen|Falcon|NemotronH)/.test(name)),
  'Qwen2ForCausalLM',
  'Qwen2MoeForCausalLM',
  'Qwen3ForCausalLM',
  'Qwen3MoeForCausalLM',
  'LlamaForCausalLM',
  'MistralForCausalLM',
  'MixtralForCausalLM',
];

/**
 * Models with latent attention (MLA) whose backend default is the general one. Not those with an
 * override of their own (DeepSeek V3.2 and later, Kimi K3).
 */
export const latentAttentionArchitectures = [
  'DeepseekV2ForCausalLM',
  'DeepseekV3ForCausalLM',
  'Glm4MoeLiteForCausalLM',
  'MiniCPM3ForCausalLM',
];

/** Kind of attention that decides the backend; undefined for a model that is not listed here. */
export function attentionOf(architecture: string | undefined): 'plain' | 'latent' | undefined {
  if (architecture === undefined) return undefined;
  if (plainAttentionArchitectures.includes(architecture)) return 'plain';
  return latentAttentionArchitectures.includes(architecture) ? 'latent' : undefined;
}

/** Transformers without recurrent state, of those above. */
export const denseArchitectures = [
  ...plainAttentionArchitectures,
  ...latentAttentionArchitectures,
].filter((name) => !hybridArchitectures.includes(name));
