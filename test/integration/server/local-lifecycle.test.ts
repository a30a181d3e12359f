import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type Server } from 'node:net';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { killAll, membersOf } from '../../../src/server/launched-processes.ts';
import { isListening } from '../../../src/server/listening.ts';
import { localTarget } from '../../../src/server/local-target.ts';
import { commandOf, environmentOf, liveProcess } from '../../../src/server/process-table.ts';
import type { RunningServer, Target } from '../../../src/server/target.ts';
import { eventually, fixture, Launches } from './launches.ts';

let launches: Launches;
let target: Target;
beforeEach(async () => {
  launches = await Launches.create();
  target = quickTarget();
});
afterEach(async () => {
  expect(await launches.end(), 'processes left by the test').toBe(0);
});

function quickTarget(stopSeconds = 1): Target {
  return localTarget({ clock: systemClock, stopSeconds, killSeconds: 10 });
}

function printed(server: RunningServer, line: string): Promise<void> {
  return eventually(`the server prints "${line}"`, () => server.logTail(50).includes(line));
}

/** The watchdog is the parent of the server's main process. */
function watchdogOf(pid: number): number {
  const parent = liveProcess(pid)?.parentPid ?? 0;
  if (!commandOf(parent).join(' ').includes('watchdog-process')) throw new Error('no watchdog');
  return parent;
}

test('a child that outlives its parent and ignores SIGTERM is gone after the stop (A1)', async () => {
  const childPort = launches.port + 1;
  const request = launches.request(
    '--child',
    String(childPort),
    '--exit',
    '0',
    '--exit-after',
    '500',
  );
  const server = await target.start(request);
  await printed(server, 'child ready');
  expect((await server.exited).code).toBe(0);
  expect(launches.processes()).toHaveLength(1);

  expect(await server.stop()).toMatchObject({ clean: true });
  expect(launches.processes()).toEqual([]);
  expect(isListening(childPort)).toBe(false);
});

test('a child in a session of its own is gone after the stop', async () => {
  const server = await target.start(launches.request('--escapee'));
  await printed(server, 'child ready');
  expect(launches.processes()).toHaveLength(2);
  expect(await server.stop()).toMatchObject({ clean: true });
  expect(launches.processes()).toEqual([]);
});

test('a server that ignores SIGTERM is killed after the stop limit', async () => {
  const server = await target.start(launches.request('--ignore-sigterm'));
  await printed(server, 'listening');
  const proof = await server.stop();
  expect(proof.clean).toBe(true);
  expect(proof.seconds).toBeGreaterThanOrEqual(1);
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL', requested: true });
});

test('a server that closes its port but lives on is not taken for stopped (A3)', async () => {
  const server = await target.start(launches.request('--close-on-sigterm'));
  await printed(server, 'listening');
  const stopping = server.stop();
  await eventually('the port closes', () => !isListening(launches.port));
  expect(launches.processes()).toHaveLength(1);
  expect((await stopping).clean).toBe(true);
  expect(launches.processes()).toEqual([]);
});

test('a renamed worker that outlives the port is gone after the stop (A3)', async () => {
  const server = await target.start(launches.request('--child', '0'));
  await printed(server, 'child ready');
  await printed(server, 'listening');
  expect((await server.stop()).clean).toBe(true);
  expect(launches.processes()).toEqual([]);
});

test('a server behind a bash wrapper that does not exec is gone after the stop (E9)', async () => {
  const request = launches.request();
  const server = await target.start({ ...request, argv: [fixture('wrapper.sh'), ...request.argv] });
  await printed(server, 'listening');
  expect(launches.processes()).toHaveLength(2);
  expect((await server.stop()).clean).toBe(true);
  expect(launches.processes()).toEqual([]);
});

test('a process that leads no group is killed alone, and the tool survives (E10)', async () => {
  const { argv, environment } = launches.request('--no-listen');
  const [file = '', ...args] = argv;
  const child = spawn(file, args, { env: environment, stdio: 'ignore' });
  const pid = child.pid ?? 0;
  expect(liveProcess(pid)?.groupId).toBe(liveProcess(process.pid)?.groupId);
  const main = { pid, startTicks: liveProcess(pid)?.startTicks ?? 0 };
  const launched = { main, markerValue: 'marks nothing' };
  expect(membersOf(launched).map((member) => member.pid)).toEqual([pid]);
  const ended = once(child, 'exit');
  expect(await killAll(launched, systemClock, 10)).toEqual([]);
  expect(await ended).toEqual([null, 'SIGKILL']);
});

test('a pid that now belongs to another process is left alone (E10)', async () => {
  const { argv, environment } = launches.request('--no-listen');
  const [file = '', ...args] = argv;
  const child = spawn(file, args, { env: environment, stdio: 'ignore', detached: true });
  const pid = child.pid ?? 0;
  const startTicks = liveProcess(pid)?.startTicks ?? 0;
  const earlier = { main: { pid, startTicks: startTicks - 1 }, markerValue: 'marks nothing' };
  expect(await killAll(earlier, systemClock, 10)).toEqual([]);
  expect(liveProcess(pid)?.startTicks).toBe(startTicks);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

test('a taken port is refused with the pid that listens, before anything starts', async () => {
  const other: Server = createServer();
  other.listen(launches.port, '127.0.0.1');
  await once(other, 'listening');
  const starting = target.start(launches.request());
  await expect(starting).rejects.toThrow(`port ${launches.port} is taken: pid ${process.pid} (`);
  expect(launches.processes()).toEqual([]);
  other.close();
});

test('the log of a server that prints 100 MB stays within its cap, with start and end', async () => {
  const logCap = { headBytes: 200_000, tailBytes: 100_000 };
  const capped = localTarget({ clock: systemClock, stopSeconds: 1, logCap });
  const floodBytes = 100 * 1024 * 1024;
  await using server = await capped.start(
    launches.request('--say', 'first line', '--flood', String(floodBytes)),
  );
  await printed(server, 'flood done');
  await eventually('it is counted', () => server.logBytes() > floodBytes);
  await server.stop();
  // One piece of output may pass the head's end before it is seen to be full.
  expect((await stat(launches.logPath)).size).toBeLessThan(400_000 + 2 * 65_536);
  const log = await readFile(launches.logPath, 'utf8');
  expect(log.startsWith('first line\n')).toBe(true);
  expect(log).toMatch(/\[nightsweep: \d+ bytes left out here\]/);
  expect(log).toContain('flood done\n');
});

test('a full disk costs the log, not the server, and is told', async () => {
  const request = launches.request('--say', 'a line', '--exit', '0', '--exit-after', '500');
  await using server = await target.start({ ...request, logPath: '/dev/full' });
  expect((await server.exited).code).toBe(0);
  expect(server.logTail(9)[0]).toBe('a line');
  expect(server.logTail(1)[0]).toContain('ENOSPC');
});

test('the watchdog ends after a clean stop', async () => {
  const server = await target.start(launches.request());
  const watchdog = watchdogOf(server.pid);
  await server.stop();
  expect(liveProcess(watchdog)).toBeUndefined();
});

test('signals for the terminal do not end the watchdog', async () => {
  await using server = await target.start(launches.request());
  await printed(server, 'listening');
  const watchdog = watchdogOf(server.pid);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(watchdog, name);
  await systemClock.sleep(300);
  expect(liveProcess(watchdog)).toBeDefined();
  expect(server.exit()).toBeUndefined();
});

test('a watchdog that is killed takes its server along, as a crash', async () => {
  await using server = await target.start(launches.request('--escapee'));
  await printed(server, 'listening');
  process.kill(watchdogOf(server.pid), 'SIGKILL');
  expect(await server.exited).toMatchObject({ requested: false });
  await eventually('everything is gone', () => launches.processes().length === 0);
});

interface Tuner {
  readonly watchdog: number;
  /** kill -9, and wait until it has ended. */
  readonly kill: () => Promise<unknown>;
}

const tuners: ChildProcess[] = [];
afterEach(() => {
  for (const tuner of tuners.splice(0)) tuner.kill('SIGKILL');
});

/** A process of its own that starts a server and waits, as a sweep does. */
async function startTuner(...switches: string[]): Promise<Tuner> {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const order = JSON.stringify({ request: launches.request(...switches) });
  const tuner = spawn(process.execPath, ['--import', tsx, fixture('tuner.mjs'), order], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  tuners.push(tuner);
  const ended = once(tuner, 'exit');
  const [line] = (await once(tuner.stdout, 'data')) as [Buffer];
  const serverPid = Number(/^server (\d+)/.exec(line.toString())?.[1]);
  const kill = () => {
    tuner.kill('SIGKILL');
    return ended;
  };
  return { watchdog: watchdogOf(serverPid), kill };
}

test('when the tuner is killed, server, children and escapees go, and the watchdog too', async () => {
  const tuner = await startTuner('--ignore-sigterm', '--escapee', '--child', '0');
  await eventually('server and children run', () => launches.processes().length === 3);
  await eventually('it listens', () => isListening(launches.port));

  await tuner.kill();
  await eventually('everything is gone', () => launches.processes().length === 0);
  await eventually('the watchdog is gone', () => liveProcess(tuner.watchdog) === undefined);
});

test('cleaning up ends what is left when tuner and watchdog both died', async () => {
  const tuner = await startTuner('--ignore-sigterm', '--escapee');
  await eventually('server and child run', () => launches.processes().length === 2);
  const left = launches.processes().map(({ pid }) => pid);
  process.kill(tuner.watchdog, 'SIGSTOP');
  await tuner.kill();
  process.kill(tuner.watchdog, 'SIGKILL');

  const ended = await target.cleanUp();
  expect(launches.processes()).toEqual([]);
  for (const pid of left) expect(ended.join('\n')).toContain(`pid ${pid} (`);
});

test('cleaning up leaves the server of another live sweep alone', async () => {
  const tuner = await startTuner();
  await eventually('the server runs', () => isListening(launches.port));
  const running = launches.processes();
  await target.cleanUp();
  expect(launches.processes()).toEqual(running);
  await tuner.kill();
  await eventually('everything is gone', () => launches.processes().length === 0);
});

test('the server gets the given environment, the marker and the proxy exceptions (A17)', async () => {
  const request = launches.request('--host', '10.1.2.3');
  const environment = { ...request.environment, HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'a.b' };
  await using server = await target.start({ ...request, environment });
  const names = ['HTTP_PROXY', 'NO_PROXY', 'HOME'];
  expect(names.map((name) => environmentOf(server.pid, name))).toEqual([
    'http://127.0.0.1:9',
    'a.b,127.0.0.1,localhost,0.0.0.0,10.1.2.3',
    undefined,
  ]);
  expect(environmentOf(server.pid, 'NIGHTSWEEP_RUN')).toMatch(`${process.pid}-`);
});
