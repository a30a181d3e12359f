import { describe, expect, test } from 'vitest';
import { parseCounters } from '../../../src/load/server-counters.ts';
import {
  countsBetween,
  type ServerCounters,
  serverCountMarks,
  serverCounts,
} from '../../../src/metrics/server-counts.ts';
import { completedRequest } from '../metrics/records.ts';

const none: ServerCounters = {
  outputTokens: null,
  promptTokens: null,
  requests: null,
  verifySteps: null,
  cachedTokens: null,
  retractions: null,
};

const records = Array.from({ length: 10 }, (_, index) => completedRequest({ index, chunks: 100 }));

describe('counters of a server', () => {
  test('are summed over their labels', () => {
    const text = [
      '# HELP sglang:generation_tokens_total Number of generation tokens processed.',
      '# TYPE sglang:generation_tokens_total counter',
      'sglang:generation_tokens_total{model_name="m",dp_rank="0"} 91.0',
      'sglang:generation_tokens_total{model_name="m}",dp_rank="1"} 9.0',
      'sglang:num_requests_total{model_name="m"} 1.5e+01',
      'sglang:gen_throughput{model_name="m"} NaN',
    ].join('\n');
    expect(parseCounters(text)).toEqual({ ...none, outputTokens: 100, requests: 15 });
  });

  test('of vLLM and llama.cpp are known by their names', () => {
    expect(parseCounters('vllm:generation_tokens_total 5')?.outputTokens).toBe(5);
    expect(parseCounters('llamacpp:tokens_predicted_total 7')?.outputTokens).toBe(7);
  });

  test('of a page without any are unknown, not zero', () => {
    expect(parseCounters('<html>not here</html>')).toBeNull();
  });

  test('that appear only with their first count started at zero', () => {
    expect(countsBetween(none, { ...none, requests: 3 }).requests).toBe(3);
  });
});

describe('what the server counted during a run', () => {
  test.each([
    { outputTokens: 1000, codes: [] },
    { outputTokens: 1029, codes: [] },
    { outputTokens: 1035, codes: ['server-count-differs'] },
    { outputTokens: 960, codes: ['server-count-differs'] },
  ])('$outputTokens tokens beside 1000 received', ({ outputTokens, codes }) => {
    const counts = serverCounts({ ...none, outputTokens, requests: 10 }, records);
    expect(serverCountMarks(counts).map(({ code }) => code)).toEqual(codes);
  });

  test('clearly more requests than were sent are somebody else’s', () => {
    const counts = serverCounts({ ...none, requests: 14, outputTokens: 1500 }, records);
    expect(serverCountMarks(counts)).toEqual([
      { code: 'foreign-requests', facts: { foreign: 4, sent: 10 } },
    ]);
  });
});
