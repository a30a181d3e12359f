import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  computePointMetrics,
  type PointInput,
} from '../../../src/metrics/compute-point-metrics.ts';
import { isOrdered } from '../../../src/metrics/invariants.ts';
import { completedRequest, refusedRequest } from './records.ts';

function point(input: Partial<PointInput> & Pick<PointInput, 'records' | 'concurrency'>) {
  return computePointMetrics({
    plannedRequests: input.records.length,
    end: 'completed',
    cacheable: false,
    timeScale: 1,
    selfCheck: null,
    ...input,
  });
}

const codes = (metrics: { marks: readonly { code: string }[] }) =>
  metrics.marks.map(({ code }) => code);

describe('chunks that carry several tokens (C1, C2)', () => {
  const stream = completedRequest({ chunks: 25, perChunk: 4, gapMs: 40, ttftMs: 40 });

  test('25 chunks of 4 tokens, 40 ms apart, are 100 tokens at 10 ms per token', () => {
    const metrics = point({ records: [stream], concurrency: 1 });
    expect(metrics.outputTokens).toBe(100);
    expect(metrics.tpotMs?.median).toBe(10);
    expect(metrics.itlMs).toMatchObject({ n: 96, median: 10, p99: 10, max: 10 });
    expect(metrics.perRequestTokensPerSecond).toBe(100);
    expect(metrics.wholeRunTokensPerSecond).toBe(100);
  });

  test('the same tokens counted only at the end give the same speeds', () => {
    const metrics = point({ records: [{ ...stream, chunkTokens: [] }], concurrency: 1 });
    expect(metrics.tpotMs?.median).toBe(10);
    expect(metrics.itlMs).toMatchObject({ n: 96, median: 10 });
    expect(metrics.perRequestTokensPerSecond).toBe(100);
  });

  test('with 8 such streams at once the peak is not below the mean', () => {
    const records = Array.from({ length: 8 }, () => stream);
    const metrics = point({ records, concurrency: 8 });
    expect(metrics.wholeRunTokensPerSecond).toBe(800);
    expect(metrics.peakTokensPerSecond).toBeGreaterThanOrEqual(800);
    expect(codes(metrics)).not.toContain('broken-invariant');
  });
});

test('latencies are first token - send, end - send', () => {
  const metrics = point({
    records: [completedRequest({ sentAtMs: 100, ttftMs: 30, chunks: 11, gapMs: 10 })],
    concurrency: 1,
  });
  expect(metrics.ttftMs?.max).toBe(30);
  expect(metrics.e2eMs?.max).toBe(130);
});

describe('steady window (C16)', () => {
  test('one request ten times longer does not sink the steady figure', () => {
    // Two at a time, 10 chunks of 100 ms; the last of 8 is ten times longer.
    const waves = [0, 1000, 2000, 3000].flatMap((at) => [at, at]);
    const records = waves.map((sentAtMs, i) =>
      completedRequest({ sentAtMs, ttftMs: 100, gapMs: 100, chunks: i === 7 ? 100 : 10 }),
    );
    const metrics = point({ records, concurrency: 2 });
    // [0, 4000]: 7 x 10 tokens + 10 of the long one = 80 tokens in 4 s.
    expect(metrics.steadyWindowMs).toEqual([0, 4000]);
    expect(metrics.steadyTokensPerSecond).toBe(20);
    expect(metrics.outputTokensPerSecond).toBe(20);
    expect(metrics.throughputKind).toBe('steady');
    // Whole run: 170 tokens in 13 s.
    expect(metrics.wholeRunTokensPerSecond).toBeCloseTo(170 / 13, 10);
  });

  test('fewer than three waves use the whole-run figure and are marked', () => {
    const records = [0, 0, 1000, 1000].map((sentAtMs) => completedRequest({ sentAtMs }));
    const metrics = point({ records, concurrency: 2 });
    expect(metrics.throughputKind).toBe('whole-run');
    expect(metrics.outputTokensPerSecond).toBe(metrics.wholeRunTokensPerSecond);
    expect(codes(metrics)).toContain('too-short');
  });

  test('tokens that arrive outside the window are not in it', () => {
    // Starts staggered by 500 ms: window [500, 2500] of two 10-token requests per second-long slot.
    const records = [0, 500, 1000, 1500, 2000, 2500].map((sentAtMs) =>
      completedRequest({ sentAtMs, ttftMs: 100, gapMs: 100, chunks: 10 }),
    );
    const metrics = point({ records, concurrency: 2 });
    expect(metrics.steadyWindowMs).toEqual([500, 3000]);
    // Each of the two slots brings a token every 100 ms.
    expect(metrics.steadyTokensPerSecond).toBe(20);
  });
});

describe('requests that are no speed', () => {
  test('a refused request counts as failure, not as fast (C17)', () => {
    const served = Array.from({ length: 7 }, (_, i) => completedRequest({ sentAtMs: i * 1000 }));
    const refused = Array.from({ length: 3 }, (_, i) => refusedRequest(i * 1000));
    const metrics = point({ records: [...served, ...refused], concurrency: 1 });
    expect(metrics.failureFraction).toBe(0.3);
    expect(metrics.e2eMs?.n).toBe(7);
    expect(metrics.e2eMs?.min).toBe(960);
    expect(metrics.marks).toContainEqual({
      code: 'failed-requests',
      facts: { failed: 3, failureFraction: 0.3 },
    });
  });

  test('answers that end early are a share and a mark (C8)', () => {
    const records = Array.from({ length: 4 }, (_, i) =>
      completedRequest({
        sentAtMs: i * 1000,
        chunks: i % 2 === 0 ? 25 : 10,
        requestedOutputTokens: 25,
      }),
    );
    const metrics = point({ records, concurrency: 1 });
    expect(metrics.shortFraction).toBe(0.5);
    expect(codes(metrics)).toContain('short-answers');
  });

  test('a run in which everything failed has throughput 0 and no latencies', () => {
    const metrics = point({ records: [refusedRequest(0), refusedRequest(1)], concurrency: 1 });
    expect(metrics).toMatchObject({
      outputTokensPerSecond: 0,
      ttftMs: null,
      itlMs: null,
      perRequestTokensPerSecond: null,
      decodingConcurrency: null,
      failureFraction: 1,
    });
  });

  test('no request at all is no crash', () => {
    const metrics = point({ records: [], concurrency: 4, plannedRequests: 8, end: 'interrupted' });
    expect(metrics.outputTokensPerSecond).toBe(0);
    expect(codes(metrics)).toContain('partial');
  });
});

describe('marks', () => {
  test('estimated tokens are told apart from counted ones (C3)', () => {
    const metrics = point({
      records: [completedRequest({ tokensFrom: 'estimated', chunkTokens: [] })],
      concurrency: 1,
    });
    expect(metrics.tokensFrom).toBe('estimated');
    expect(codes(metrics)).toContain('estimated-tokens');
  });

  test('more tokens than were asked for is a broken invariant (C3)', () => {
    const metrics = point({
      records: [completedRequest({ requestedOutputTokens: 20 })],
      concurrency: 1,
    });
    expect(codes(metrics)).toContain('broken-invariant');
  });

  test.each([
    { name: 'a total that differs from the chunks', change: { outputTokens: 24 } },
    { name: 'a first token before the send', change: { firstTokenAtMs: -5 } },
    {
      name: 'a token count that goes down',
      change: { chunkTokens: [2, 1, 25], chunkAtMs: [0, 1, 2] },
    },
  ])('$name is a broken invariant (C2)', ({ change }) => {
    const metrics = point({ records: [completedRequest(change)], concurrency: 1 });
    expect(codes(metrics)).toContain('broken-invariant');
  });

  test('cached prompt tokens above a template are marked (C9)', () => {
    const cached = (cachedTokens: number) =>
      codes(
        point({
          records: [completedRequest({ promptTokens: 100, cachedTokens })],
          concurrency: 1,
        }),
      );
    expect(cached(80)).toContain('prefix-cache-hits');
    expect(cached(4)).not.toContain('prefix-cache-hits');
  });

  test.each([
    { concurrency: 4, aggregate: 399.1, perRequest: 118.8, bound: false },
    { concurrency: 16, aggregate: 1213.5, perRequest: 84.6, bound: false },
    { concurrency: 32, aggregate: 1515.1, perRequest: 62.8, bound: true },
    { concurrency: 64, aggregate: 1582.5, perRequest: 66.1, bound: true },
  ])('the reference table at $concurrency in flight: bound by the server is $bound', (row) => {
    // One request per slot at the table's own speed, stretched so that the aggregate is the table's.
    const tokens = 1000;
    const decodeMs = (tokens / row.perRequest) * 1000;
    const gapMs = decodeMs / (tokens - 1);
    const wallMs = (row.concurrency * tokens * 1000) / row.aggregate;
    const records = Array.from({ length: row.concurrency }, () =>
      completedRequest({ chunks: tokens, gapMs, ttftMs: wallMs - decodeMs }),
    );
    const metrics = point({ records, concurrency: row.concurrency });
    const expected = row.aggregate / row.perRequest;
    expect(Math.abs((metrics.decodingConcurrency ?? 0) / expected - 1)).toBeLessThan(0.002);
    expect(codes(metrics).includes('server-bound')).toBe(row.bound);
  });

  test.each([
    { input: { cacheable: true }, code: 'cacheable-prompts' },
    { input: { timeScale: 20 }, code: 'simulated' },
    { input: { end: 'stalled' }, code: 'partial' },
    { input: { flushed: false }, code: 'not-flushed' },
    { input: { runningLimit: 0 }, code: 'above-running-limit' },
    {
      input: { selfCheck: { eventLoopDelayP99Ms: 400, cpuFraction: 0.2 } },
      code: 'client-limited',
    },
    { input: { selfCheck: { eventLoopDelayP99Ms: 4, cpuFraction: 0.99 } }, code: 'client-limited' },
  ])('$input gives the mark $code', ({ input, code }) => {
    const records = [completedRequest(), completedRequest({ sentAtMs: 1000 })];
    const base = { records: [...records, completedRequest({ sentAtMs: 2000 })], concurrency: 1 };
    expect(codes(point(base))).toEqual([]);
    expect(codes(point({ ...base, ...input }))).toEqual([code]);
  });
});

test('accept length is the sum of tokens over the sum of verify steps', () => {
  const metrics = point({
    records: [
      completedRequest({ chunks: 8, perChunk: 4, verifyCount: 8 }),
      completedRequest({ chunks: 4, perChunk: 4, verifyCount: 8, sentAtMs: 2000 }),
    ],
    concurrency: 1,
  });
  expect(metrics.acceptLength).toBe(48 / 16);
});

test('one answer that arrived in a burst does not pull the decode speed up', () => {
  const steady = Array.from({ length: 9 }, (_, i) =>
    completedRequest({ sentAtMs: i * 1000, chunks: 101, gapMs: 10 }),
  );
  const burst = completedRequest({ sentAtMs: 9000, chunks: 11, gapMs: 0.01 });
  const metrics = point({ records: [...steady, burst], concurrency: 1 });
  // 910 tokens in 9000.1 ms; the mean of the ten speeds would be 10090.
  expect(metrics.perRequestTokensPerSecond).toBeCloseTo(910_000 / 9000.1, 6);
});

test('any closed loop keeps its invariants, and tokens in the window never exceed the total', () => {
  const request = fc.record({
    chunks: fc.integer({ min: 1, max: 30 }),
    perChunk: fc.integer({ min: 1, max: 5 }),
    gapMs: fc.double({ min: 0.1, max: 50, noNaN: true }),
    ttftMs: fc.double({ min: 0.1, max: 500, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 8 }),
      (shapes, concurrency) => {
        const freeAtMs = new Array<number>(concurrency).fill(0);
        const records = shapes.map((shape, index) => {
          const slot = freeAtMs.indexOf(Math.min(...freeAtMs));
          const record = completedRequest({ ...shape, index, sentAtMs: freeAtMs[slot] ?? 0 });
          freeAtMs[slot] = record.endedAtMs;
          return record;
        });
        const metrics = point({ records, concurrency });
        expect(codes(metrics)).not.toContain('broken-invariant');
        for (const d of [metrics.ttftMs, metrics.itlMs, metrics.tpotMs, metrics.e2eMs]) {
          if (d !== null) expect(isOrdered(d)).toBe(true);
        }
        const [start, end] = metrics.steadyWindowMs ?? [0, 0];
        const inWindow = ((metrics.steadyTokensPerSecond ?? 0) * (end - start)) / 1000;
        expect(inWindow).toBeLessThanOrEqual(metrics.outputTokens + 1e-6);
      },
    ),
  );
});
