import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { countRequests } from '../../../src/load/requests-in-flight.ts';

const CAPTURE = new URL(
  '../../fixtures/sglang-captures/0.5.23-get_v1_loads.response.http',
  import.meta.url,
);

function loads(agoSeconds: number, ranks: readonly (readonly [number, number])[]): string {
  const nowMs = Date.parse('2026-11-30T18:13:14.500Z');
  return JSON.stringify({
    timestamp: new Date(nowMs).toISOString(),
    loads: ranks.map(([running, waiting]) => ({
      timestamp: nowMs / 1000 - agoSeconds,
      num_running_reqs: running,
      num_waiting_reqs: waiting,
    })),
  });
}

test('an idle SGLang 0.5.23 has none', () => {
  const body = readFileSync(CAPTURE, 'utf8').replaceAll('\r\n', '\n').split('\n\n').at(-1) ?? '';
  expect(countRequests(body)).toBe(0);
});

test('running and waiting requests of all ranks count', () => {
  expect(
    countRequests(
      loads(0, [
        [2, 1],
        [4, 0],
      ]),
    ),
  ).toBe(7);
});

test('a count that was published long ago says nothing', () => {
  expect(countRequests(loads(5, [[2, 1]]))).toBeNull();
});

test('another answer says nothing', () => {
  expect(countRequests('Not Found')).toBeNull();
});
