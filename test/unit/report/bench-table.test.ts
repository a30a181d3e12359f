import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { PointMetrics } from '../../../src/metrics/point-metrics.ts';
import { benchJson, benchServingLine, benchTable } from '../../../src/report/bench-table.ts';

function point(overrides: Partial<PointMetrics> = {}): PointMetrics {
  const latency = { n: 4, mean: 10, median: 9, p90: 11, p95: 12, p99: 13, min: 8, max: 13 };
  return {
    concurrency: 1,
    requests: 4,
    completed: 4,
    failed: 0,
    failureFraction: 0,
    shortFraction: 0,
    outputTokens: 4000,
    promptTokens: 4000,
    cachedTokens: null,
    durationSeconds: 32.9,
    wholeRunTokensPerSecond: 121.6,
    steadyTokensPerSecond: 122,
    steadyWindowMs: [0, 32_900],
    outputTokensPerSecond: 122,
    throughputKind: 'steady',
    requestsPerSecond: 0.12,
    perRequestTokensPerSecond: 123.3,
    decodingConcurrency: 1,
    ttftMs: latency,
    itlMs: latency,
    tpotMs: latency,
    e2eMs: latency,
    acceptLength: 1.9,
    tokensFrom: 'server',
    marks: [],
    ...overrides,
  };
}

test('the table has the format of the reference benchmark, byte for byte', () => {
  const rows: [number, number, number, number, number, number][] = [
    [1, 121.6, 123.3, 4000, 32.9, 4],
    [4, 399.1, 118.8, 7157, 17.9, 8],
    [16, 1213.5, 84.6, 29_417, 24.2, 32],
    [32, 1515.1, 62.8, 51_805, 34.2, 64],
    [64, 1582.5, 66.1, 97_000, 61.3, 128],
  ];
  const points = rows.map(([concurrency, aggregate, perRequest, tokens, wall, ok]) =>
    point({
      concurrency,
      wholeRunTokensPerSecond: aggregate,
      perRequestTokensPerSecond: perRequest,
      outputTokens: tokens,
      durationSeconds: wall,
      completed: ok,
    }),
  );
  const reference = new URL('../../fixtures/bench-output-reference.txt', import.meta.url);
  expect(benchTable(points)).toBe(readFileSync(reference, 'utf8'));
});

test('a point without any answer has no per-request speed', () => {
  const table = benchTable([point({ perRequestTokensPerSecond: null, completed: 0 })]);
  expect(table.split('\n')[2]?.split('|')[2]?.trim()).toBe('-');
});

test('JSON keys carry their units', () => {
  expect(benchJson(point())).toMatchObject({
    output_tokens_per_second: 122,
    ttft_ms: { p99: 13 },
    failure_fraction: 0,
  });
});

test('the bench_serving line has that tool’s keys', () => {
  const run = { backend: 'sglang', dataset: 'code', tag: 't' };
  const line = JSON.parse(benchServingLine(point(), run)) as Record<string, unknown>;
  expect(line).toMatchObject({
    backend: 'sglang',
    max_concurrency: 1,
    output_throughput: 121.6,
    p99_ttft_ms: 13,
    mean_e2e_latency_ms: 10,
    median_itl_ms: 9,
    total_output_tokens: 4000,
    completed: 4,
  });
});
