import { expect, test } from 'vitest';
import { effectiveConfiguration } from '../../../src/sglang/effective-configuration.ts';
import { metricsValues } from '../../../src/sglang/metrics-values.ts';

const TEXT = `# HELP sglang:page_size KV cache page size in tokens.
# TYPE sglang:page_size gauge
sglang:page_size{engine_type="unified",model_name="/srv/sglang/tiny-qwen3",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 64.0
# TYPE sglang:max_total_num_tokens gauge
sglang:max_total_num_tokens{engine_type="unified",model_name="/srv/sglang/tiny-qwen3",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 16384.0
sglang:max_total_num_tokens_other{model_name="m"} 5.0
`;

test('KV pool and page size stand in the metrics of a server', () => {
  expect(metricsValues(TEXT)).toEqual({ kvTokens: 16384, pageSize: 64 });
});

test('metrics without them tell nothing', () => {
  expect(metricsValues('vllm:num_requests_running 0\n')).toEqual({});
});

test('what server info and log leave open is taken from the metrics', () => {
  const found = effectiveConfiguration({ assignment: { 'page-size': 1 }, metricsText: TEXT });
  expect(found.kvTokens).toBe(16384);
  expect(found.values['page-size']).toEqual({
    asked: 1,
    effective: 64,
    from: 'metrics',
    took: 'no',
  });
});
