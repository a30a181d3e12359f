import { expect, test } from 'vitest';
import { goodput } from '../../../src/metrics/goodput.ts';
import { completedRequest, refusedRequest } from './records.ts';

// 25 chunks 40 ms apart: TPOT 40 ms, E2E = TTFT + 960 ms.
const fast = completedRequest({ ttftMs: 100 });
const late = completedRequest({ ttftMs: 100, intendedAtMs: -500 });

test.each([
  { slos: { ttftMs: 100 }, good: 1 },
  { slos: { ttftMs: 600 }, good: 2 },
  { slos: { tpotMs: 39 }, good: 0 },
  { slos: { tpotMs: 40, e2eMs: 1060 }, good: 2 },
  { slos: { e2eMs: 1059 }, good: 0 },
])('$good of 4 requests meet $slos', ({ slos, good }) => {
  const records = [fast, late, refusedRequest(0), refusedRequest(5)];
  expect(goodput(records, 2, slos)).toEqual({ fraction: good / 4, requestsPerSecond: good / 2 });
});

test('without objectives there is no goodput', () => {
  expect(goodput([fast], 1, undefined)).toBeUndefined();
});
