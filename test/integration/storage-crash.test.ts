import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../src/storage/open-store.ts';
import { identity } from '../contract/study-store.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'nightsweep-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the writer; kills it with SIGKILL `killAfterMs` after it began to write. */
async function write(path: string, killAfterMs?: number): Promise<void> {
  const program = join(import.meta.dirname, 'storage-writer.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), ended]);
  if (killAfterMs !== undefined) {
    await sleep(killAfterMs);
    child.kill('SIGKILL');
  }
  await ended;
}

// Field report D8: a torn last record stops the resume, or a resume writes the same cell twice.
test('a writer killed at random moments and started again leaves each measurement once (D8)', async () => {
  const path = join(folder, 'killed.sqlite');
  for (let kill = 0; kill < 8; kill += 1) await write(path, Math.random() * 40);
  await write(path);

  using store = openStore(path, { readOnly: true });
  const study = store.findStudy(identity.name);
  const measured = store.measurements(study?.id ?? -1);
  const keys = measured.map((m) => `${String(m.trialId)}/${String(m.repeat)}`);
  const requests = measured.map(({ id }) => store.requests(id).length);
  expect(new Set(keys).size).toBe(60);
  expect(keys).toHaveLength(60);
  expect(new Set(requests)).toEqual(new Set([100]));
  expect(store.integrityProblems()).toEqual([]);
}, 120_000);

// Field report D5: nothing was on disk until the last point, an error there lost all.
test('what was measured before a crash can be read afterwards (D5)', async () => {
  const path = join(folder, 'crashed.sqlite');
  await write(path, 30);
  using store = openStore(path, { readOnly: true });
  const study = store.findStudy(identity.name);
  expect(study).toBeDefined();
  expect(store.integrityProblems()).toEqual([]);
  for (const { id } of store.measurements(study?.id ?? -1)) {
    expect(store.requests(id)).toHaveLength(100);
  }
});
