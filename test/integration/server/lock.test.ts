import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { acquireLock, type Lock } from '../../../src/server/lock.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nightsweep-test-'));
  path = join(folder, 'target.lock');
});
afterEach(() => rm(folder, { recursive: true }));

const HOUR_MS = 3_600_000;
function acquire(): Promise<Lock> {
  return acquireLock({ path, what: 'the target', clock: systemClock });
}

/** Changes what the lock file says of its owner. */
async function rewrite(change: Record<string, unknown>): Promise<void> {
  const owner = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...owner, ...change }));
}

test('a held lock is refused with the pid and the age of its owner (D13)', async () => {
  await using lock = await acquire();
  await rewrite({ sinceMs: systemClock.wallMs() - 2 * HOUR_MS });
  await expect(acquire()).rejects.toThrow(
    `the target is in use by the sweep with pid ${process.pid}, started 2 h 0 min ago`,
  );
  expect(lock.takenOver).toBeUndefined();
});

test('a released lock can be taken again and leaves no file', async () => {
  await (await acquire()).release();
  await (await acquire()).release();
  expect(await readdir(folder)).toEqual([]);
});

test('a lock whose owner has ended is taken over, and says so', async () => {
  await acquire();
  await rewrite({ pid: spawnSync('true').pid });
  await using lock = await acquire();
  expect(lock.takenOver).toContain('which has ended');
});

test('a lock whose pid now belongs to another process is taken over', async () => {
  await acquire();
  await rewrite({ startTicks: 1 });
  await using lock = await acquire();
  expect(lock.takenOver).toContain(`pid ${process.pid}`);
});

test('a lock from before a reboot is taken over', async () => {
  await acquire();
  await rewrite({ bootId: 'an earlier one' });
  await using lock = await acquire();
  expect(lock.takenOver).toBeDefined();
});

test('a lock of another machine stands', async () => {
  await acquire();
  await rewrite({ machine: 'gpu-7' });
  await expect(acquire()).rejects.toThrow('on gpu-7');
});

test('a lock file cut short by a full disk is taken over', async () => {
  await writeFile(path, '');
  await using lock = await acquire();
  expect(lock.takenOver).toContain('an unreadable lock file');
});

test('of many that want a stale lock at once exactly one gets it', async () => {
  await acquire();
  await rewrite({ startTicks: 1 });
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, acquire));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['target.lock']);
});

test('releasing does not remove the lock of somebody else', async () => {
  const lock = await acquire();
  await rewrite({ token: 'theirs' });
  await lock.release();
  expect(await readdir(folder)).toEqual(['target.lock']);
});
