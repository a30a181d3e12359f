import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import type { Target } from '../../src/server/target.ts';
import { eventually, Launches } from '../integration/server/launches.ts';

/** What every target promises, whatever starts its servers. */
export function serverTargetContract(name: string, createTarget: () => Target): void {
  describe(name, () => {
    let launches: Launches;
    let target: Target;
    beforeEach(async () => {
      launches = await Launches.create();
      target = createTarget();
    });
    afterEach(async () => {
      expect(await launches.end(), 'processes left by the test').toBe(0);
    });

    test('a started server runs until it is stopped', async () => {
      const server = await target.start(launches.request());
      await eventually('it listens', () => server.logTail(1)[0] === 'listening');
      expect(server.exit()).toBeUndefined();
      expect(await server.stop()).toMatchObject({ clean: true, survivors: [] });
      expect(launches.processes()).toEqual([]);
    });

    test('stopping twice gives the same proof', async () => {
      const server = await target.start(launches.request());
      expect(await server.stop()).toBe(await server.stop());
    });

    test('disposing stops the server', async () => {
      {
        await using server = await target.start(launches.request());
        expect(server.pid).toBeGreaterThan(0);
      }
      expect(launches.processes()).toEqual([]);
    });

    test('an exit after a stop counts as requested', async () => {
      const server = await target.start(launches.request());
      await server.stop();
      expect(await server.exited).toMatchObject({ requested: true });
    });

    test.each([0, 1, 3])('an exit by itself with code %i is not requested', async (code) => {
      await using server = await target.start(launches.request('--exit', String(code)));
      expect(await server.exited).toEqual({ code, signal: null, requested: false });
    });

    test('an exit by itself stays unrequested after the stop', async () => {
      const server = await target.start(launches.request('--exit', '0'));
      await server.exited;
      await server.stop();
      expect(server.exit()?.requested).toBe(false);
    });

    test('the next server starts after the stop of the first on the same port', async () => {
      const first = await target.start(launches.request());
      await eventually('it listens', () => first.logTail(1)[0] === 'listening');
      await first.stop();
      await using second = await target.start(launches.request());
      await eventually('it listens', () => second.logTail(1)[0] === 'listening');
    });

    test('a second server beside a running one is refused', async () => {
      await using server = await target.start(launches.request());
      await expect(target.start(launches.request())).rejects.toThrow('one server at a time');
      expect(server.exit()).toBeUndefined();
    });

    test('a program that does not exist is an error of the user', async () => {
      const starting = target.start(launches.requestOf(['/does/not/exist']));
      await expect(starting).rejects.toThrow(UserError);
      await expect(starting).rejects.toThrow('cannot start /does/not/exist: not found');
    });

    test('what the server prints is in the log and counts as progress', async () => {
      await using server = await target.start(launches.request('--say', 'weights loaded'));
      await eventually('it listens', () => server.logTail(1)[0] === 'listening');
      expect(server.logTail(2)).toEqual(['weights loaded', 'listening']);
      expect(server.logBytes()).toBe('weights loaded\nlistening\n'.length);
      await server.stop();
      expect(await readFile(launches.logPath, 'utf8')).toBe('weights loaded\nlistening\n');
    });

    test('a secret of the environment reaches neither log nor tail', async () => {
      const request = launches.request('--say', 'key is hush-hush-123, use it');
      const environment = { ...request.environment, MY_API_KEY: 'hush-hush-123' };
      const server = await target.start({ ...request, environment });
      await eventually('it listens', () => server.logTail(1)[0] === 'listening');
      const tail = server.logTail(10).join('\n');
      await server.stop();
      const log = await readFile(launches.logPath, 'utf8');
      expect([tail.includes('hush-hush-123'), log.includes('hush-hush-123')]).toEqual([
        false,
        false,
      ]);
    });

    test('cleaning up with nothing left over ends nothing of this test', async () => {
      await using server = await target.start(launches.request());
      await target.cleanUp();
      expect(server.exit()).toBeUndefined();
      expect(launches.processes().map(({ pid }) => pid)).toEqual([server.pid]);
    });
  });
}
