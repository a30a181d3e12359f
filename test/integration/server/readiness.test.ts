import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { localTarget } from '../../../src/server/local-target.ts';
import { type Readiness, waitUntilReady } from '../../../src/server/readiness.ts';
import type { RunningServer, Target } from '../../../src/server/target.ts';
import { Launches } from './launches.ts';

const PATIENT = { stallSeconds: 1200, totalSeconds: 1200 };
let launches: Launches;
let target: Target;
beforeEach(async () => {
  launches = await Launches.create();
  target = localTarget({ clock: systemClock, stopSeconds: 5, killSeconds: 10 });
});
afterEach(async () => {
  expect(await launches.end(), 'processes left by the test').toBe(0);
});

/** A completion as a real caller makes it: a POST with a limit of its own. */
async function complete(signal: AbortSignal): Promise<void> {
  const url = `http://127.0.0.1:${launches.port}/generate`;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(1000)]);
  await (await fetch(url, { method: 'POST', signal: limit })).text();
}

function wait(
  server: RunningServer,
  limits = PATIENT,
  signal: AbortSignal = new AbortController().signal,
): Promise<Readiness> {
  return waitUntilReady({ server, probe: complete, limits, clock: systemClock, signal });
}

test('a server that answers a completion is ready', async () => {
  await using server = await target.start(launches.request());
  expect((await wait(server)).state).toBe('ready');
});

test.each([0, 1])('an exit with code %i ends a wait of 20 minutes (D2, A9)', async (code) => {
  await using server = await target.start(
    launches.request('--say', 'model not found', '--exit', String(code), '--exit-after', '300'),
  );
  expect(await wait(server)).toMatchObject({
    state: 'not-ready',
    why: 'exited',
    exit: { code, requested: false },
    logTail: ['model not found'],
  });
});

test('a health route that says 200 does not make a server ready (A5)', async () => {
  await using server = await target.start(launches.request('--hang'));
  const readiness = await wait(server, { stallSeconds: 1200, totalSeconds: 4 });
  expect(readiness).toMatchObject({ state: 'not-ready', why: 'completion-failed' });
  expect((await fetch(`http://127.0.0.1:${launches.port}/health`)).status).toBe(200);
});

test('a silent start ends by the stall limit, long before the total limit (A10)', async () => {
  await using server = await target.start(launches.request('--no-listen', '--say', 'capture 1/23'));
  const readiness = await wait(server, { stallSeconds: 1, totalSeconds: 1200 });
  expect(readiness).toMatchObject({ why: 'stalled', logTail: ['capture 1/23'] });
});

test('a start that goes on printing ends by the total limit only (A12)', async () => {
  await using server = await target.start(launches.request('--no-listen', '--chatter', '100'));
  const readiness = await wait(server, { stallSeconds: 2, totalSeconds: 4 });
  expect(readiness).toMatchObject({ state: 'not-ready', why: 'total-limit' });
});

test('a completion answered by a process of another launch is not readiness', async () => {
  await using server = await target.start(launches.request('--no-listen'));
  const other = await Launches.create();
  const foreignTarget = localTarget({ clock: systemClock, stopSeconds: 5 });
  const argv = launches.request().argv;
  const foreign = await foreignTarget.start({ ...other.requestOf(argv), baseUrl: urlOf(launches) });
  expect(await wait(server)).toMatchObject({ state: 'not-ready', why: 'foreign-server' });
  await foreign.stop();
  await other.end();
});

function urlOf({ port }: Launches): string {
  return `http://127.0.0.1:${port}`;
}

test('an interrupt ends the wait with its reason and leaves the server to its owner', async () => {
  await using server = await target.start(launches.request('--no-listen'));
  const interrupt = new AbortController();
  const waiting = wait(server, PATIENT, interrupt.signal);
  interrupt.abort(new Error('Ctrl-C'));
  await expect(waiting).rejects.toThrow('Ctrl-C');
  expect(server.exit()).toBeUndefined();
});
