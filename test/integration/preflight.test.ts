import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { parseStudy } from '../../src/config/load-study.ts';
import { localHost } from '../../src/host/local-host.ts';
import { preflight } from '../../src/study/preflight.ts';
import { freePort } from '../helpers/simulated-study.ts';

const MIB = 1024 * 1024;
const { signal } = new AbortController();

async function checkWith(space: Readonly<Record<string, number>>, oneDisk = true) {
  const port = await freePort();
  const text = JSON.stringify({
    study: 'night',
    target: {
      command: ['python3', '-m', 'sglang.launch_server', '--port', String(port)],
      base_url: `http://127.0.0.1:${String(port)}`,
    },
    profile: { 1: 1 },
    parameters: { 'schedule-policy': ['lpm'] },
  });
  return preflight({
    study: parseStudy(text, 'study.yaml'),
    launches: 40,
    databasePath: 'db',
    logFolder: 'logs',
    host: localHost,
    clock: systemClock,
    usesGpus: false,
    allowGpuProcesses: false,
    spaceAt: (path) => ({
      bytes: (space[path] ?? 0) * MIB,
      device: oneDisk || path === 'db' ? 1 : 2,
    }),
  });
}

test('a disk without room for database and logs is refused with both figures', async () => {
  await expect(checkWith({ db: 200, logs: 200 })).rejects.toThrow(
    /disk of db has 200 MiB free, this sweep needs about 2\d\d MiB/,
  );
});

test('logs on a disk of their own are counted there', async () => {
  await expect(checkWith({ db: 100, logs: 200 }, false)).rejects.toThrow(
    /disk of logs has 200 MiB/,
  );
});

test('a disk with room is no problem before a launch', async () => {
  const check = await checkWith({ db: 1000, logs: 1000 });
  expect(await check(signal)).toBeUndefined();
});

test('a disk that fills up during the night ends it before the next launch', async () => {
  const space = { db: 1000, logs: 1000 };
  const check = await checkWith(space);
  space.db = 20;
  expect(await check(signal)).toMatch(/disk of db is nearly full \(20 MiB free\)/);
});
