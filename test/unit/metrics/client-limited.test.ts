import { expect, test } from 'vitest';
import { computePointMetrics } from '../../../src/metrics/compute-point-metrics.ts';
import type { ClientLoad } from '../../../src/metrics/point-marks.ts';
import { completedRequest } from './records.ts';

const quiet: ClientLoad = {
  eventLoopDelayP99Ms: 3,
  cpuFraction: 0.3,
  cpuWaitFraction: 0.05,
  dispatchLagP99Ms: 1,
  peakInFlight: 2,
};

/** Marks of a sound run of two in flight on a client that saw this of itself. */
function marksOf(selfCheck: Partial<ClientLoad>, timeScale = 1): string[] {
  const records = [0, 1, 2, 3, 4, 5].map((index) =>
    completedRequest({ index, sentAtMs: Math.floor(index / 2) * 1000 }),
  );
  const { marks } = computePointMetrics({
    records,
    concurrency: 2,
    plannedRequests: 6,
    end: 'completed',
    cacheable: false,
    timeScale,
    selfCheck: { ...quiet, ...selfCheck },
  });
  return marks.map(({ code }) => code);
}

test.each([
  { what: 'with time to spare', seen: {}, limited: false },
  { what: 'on a whole core', seen: { cpuFraction: 0.97 }, limited: true },
  { what: 'late by a quarter of a second', seen: { eventLoopDelayP99Ms: 260 }, limited: true },
  { what: 'that sends late', seen: { dispatchLagP99Ms: 300 }, limited: true },
  {
    what: 'whose core others burn (C15)',
    seen: { cpuWaitFraction: 0.7, eventLoopDelayP99Ms: 15 },
    limited: true,
  },
  { what: 'that waits for its core at times', seen: { cpuWaitFraction: 0.4 }, limited: false },
  { what: 'that never had all requests in flight', seen: { peakInFlight: 1 }, limited: true },
])('a client $what is the limit: $limited', ({ seen, limited }) => {
  expect(marksOf(seen).includes('client-limited')).toBe(limited);
});

test('beside a simulated server with a fast clock a busy core is no sign', () => {
  expect(marksOf({ cpuWaitFraction: 0.7, eventLoopDelayP99Ms: 40 }, 20)).toEqual(['simulated']);
});
