import { expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { waitUntilReady } from '../../../src/server/readiness.ts';
import type { RunningServer } from '../../../src/server/target.ts';

/** A clock whose sleeps end at once and move it on. */
function steppingClock(): Clock {
  let nowMs = 0;
  return {
    wallMs: () => nowMs,
    nowMs: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
}

/** A server that prints up to `progressSeconds` after its start, and never ends. */
function silentServer(clock: Clock, progressSeconds: number): RunningServer {
  const unused = () => Promise.reject(new Error('not used'));
  return {
    pid: 1,
    startedAtMs: 0,
    exit: () => undefined,
    exited: new Promise(() => undefined),
    logTail: () => [],
    logBytes: () => Math.min(clock.nowMs(), progressSeconds * 1000),
    stop: unused,
    [Symbol.asyncDispose]: unused,
  };
}

const refused = () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }));
const limits = { stallSeconds: 300, totalSeconds: 3600 };
const { signal } = new AbortController();

test('progress extends the wait past the stall limit, up to that long after its end (A12)', async () => {
  const clock = steppingClock();
  const server = silentServer(clock, 1000);
  const readiness = await waitUntilReady({ server, probe: refused, limits, clock, signal });
  expect(readiness).toMatchObject({ state: 'not-ready', why: 'stalled' });
  expect(readiness.seconds).toBeGreaterThanOrEqual(1300);
  expect(readiness.seconds).toBeLessThan(1301);
});

test('endless progress ends at the total limit (A11)', async () => {
  const clock = steppingClock();
  const server = silentServer(clock, Infinity);
  const readiness = await waitUntilReady({ server, probe: refused, limits, clock, signal });
  expect(readiness).toMatchObject({ why: 'total-limit', lastError: 'no' });
});

test('a server that answers with errors only is not taken for a silent one', async () => {
  const clock = steppingClock();
  const probe = () => Promise.reject(new Error('HTTP 500'));
  const server = silentServer(clock, 0);
  const readiness = await waitUntilReady({ server, probe, limits, clock, signal });
  expect(readiness).toMatchObject({ why: 'completion-failed', lastError: 'HTTP 500' });
});

const learned = { ...limits, expectedSeconds: 300 };

test('lines without progress do not extend the start past what the baseline makes likely (A11)', async () => {
  const clock = steppingClock();
  const server = silentServer(clock, Infinity);
  const progress = () => 'distributed';
  const wait = { server, probe: refused, limits: learned, clock, signal, progress };
  const readiness = await waitUntilReady(wait);
  expect(readiness).toMatchObject({ state: 'not-ready', why: 'total-limit' });
  expect(readiness.seconds).toBeLessThan(301);
});

test('steps of a load extend it: ready 70 s past that limit is ready (A12)', async () => {
  const clock = steppingClock();
  const server = silentServer(clock, Infinity);
  const probe = () => (clock.nowMs() < 370_000 ? refused() : Promise.resolve());
  const progress = () => `weights ${String(Math.floor(clock.nowMs() / 20_000))}`;
  const wait = { server, probe, limits: learned, clock, signal, progress };
  expect(await waitUntilReady(wait)).toMatchObject({ state: 'ready' });
});

test('steps that go on for ever end at the total limit', async () => {
  const clock = steppingClock();
  const server = silentServer(clock, Infinity);
  const progress = () => `weights ${String(Math.floor(clock.nowMs() / 20_000))}`;
  const wait = { server, probe: refused, limits: learned, clock, signal, progress };
  const readiness = await waitUntilReady(wait);
  expect(readiness).toMatchObject({ why: 'total-limit' });
  expect(readiness.seconds).toBeGreaterThanOrEqual(3600);
});

test('a server that answers 503 for ever ends at the stall limit: lines of our own probes are no progress', async () => {
  const clock = steppingClock();
  const access = 'INFO:     127.0.0.1:40000 - "POST /generate HTTP/1.1" 503 Service Unavailable';
  const lines = () => [
    '[2026-12-01 02:00:00] Uvicorn running on http://127.0.0.1:30000',
    ...Array.from({ length: Math.floor(clock.nowMs() / 1000) }, () => access),
  ];
  const server: RunningServer = {
    ...silentServer(clock, Infinity),
    logTail: (count) => lines().slice(-count),
  };
  const probe = () => Promise.reject(new Error('HTTP 503'));
  const readiness = await waitUntilReady({ server, probe, limits, clock, signal });
  expect(readiness).toMatchObject({ why: 'completion-failed', lastError: 'HTTP 503' });
  expect(readiness.seconds).toBeLessThan(305);
});
