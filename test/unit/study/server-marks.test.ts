import { expect, test } from 'vitest';
import { computePointMetrics } from '../../../src/metrics/compute-point-metrics.ts';
import type { RequestRecord } from '../../../src/metrics/request-record.ts';
import { effectiveConfiguration } from '../../../src/sglang/effective-configuration.ts';
import { withServerMarks } from '../../../src/study/server-marks.ts';

function metricsAt(concurrency: number) {
  const record = (index: number): RequestRecord => ({
    index,
    intendedAtMs: 0,
    sentAtMs: 0,
    firstTokenAtMs: 10,
    lastTokenAtMs: 1000,
    endedAtMs: 1000,
    chunkAtMs: [10, 1000],
    chunkTokens: [1, 100],
    outputTokens: 100,
    promptTokens: 900,
    requestedOutputTokens: 100,
    tokensFrom: 'server',
    outcome: 'completed',
  });
  return computePointMetrics({
    records: Array.from({ length: concurrency }, (_, index) => record(index)),
    concurrency,
    plannedRequests: concurrency,
    end: 'completed',
    cacheable: false,
    timeScale: 1,
    selfCheck: { eventLoopDelayP99Ms: 0, cpuFraction: 0 },
    flushed: null,
    runningLimit: null,
  });
}

const codes = (concurrency: number, serverInfo: unknown, assignment = {}) =>
  withServerMarks(
    metricsAt(concurrency),
    effectiveConfiguration({ assignment, serverInfo }),
  ).marks.map(({ code }) => code);

test('64 in flight above a largest captured graph of 32 decodes eager, 32 does not (B12)', () => {
  const info = { cuda_graph_config: { decode: { backend: 'full', max_bs: 32, bs: [8, 16, 32] } } };
  expect(codes(64, info)).toContain('eager-decode');
  expect(codes(32, info)).not.toContain('eager-decode');
});

test('a KV pool smaller than what the requests in flight need is a mark', () => {
  expect(codes(64, { max_total_num_tokens: 30_000 })).toContain('kv-pool-too-small');
  expect(codes(64, { max_total_num_tokens: 90_000 })).not.toContain('kv-pool-too-small');
});

test('a swept value that the server reduced is a mark with both values (B3)', () => {
  const info = {
    max_running_requests: 128,
    internal_states: [{ effective_max_running_requests_per_dp: 50 }],
  };
  const { marks } = withServerMarks(
    metricsAt(4),
    effectiveConfiguration({ assignment: { 'max-running-requests': 128 }, serverInfo: info }),
  );
  expect(marks).toContainEqual({
    code: 'value-not-in-force',
    facts: { parameter: 'max-running-requests', asked: '128', runs: '50' },
  });
});

test('a server that does not say is unknown, not a mark', () => {
  expect(codes(64, undefined, { 'max-running-requests': 128 })).not.toContain('value-not-in-force');
});

test('a limit that the state cache sets is laid to its slots, not to the flag for requests', () => {
  const limited = (limit: number) => ({
    internal_states: [{ effective_max_running_requests_per_dp: limit, max_mamba_cache_size: 80 }],
  });
  expect(codes(64, limited(16))).toEqual(expect.arrayContaining(['state-slots']));
  expect(codes(64, limited(48))).not.toContain('state-slots');
  expect(codes(8, limited(16))).not.toContain('state-slots');
});
