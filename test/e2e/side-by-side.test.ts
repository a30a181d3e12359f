import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningCli, runCli } from '../helpers/run-cli.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

/** A stalled second launch keeps the sweep running for as long as the tests need. */
const PARTS = {
  parameters: { 'sim-stall-at': [null, 'load'] },
};

let study: SimulatedStudy;
let sweep: RunningCli;

beforeAll(async () => {
  study = await simulatedStudy(PARTS);
  sweep = study.start('sweep');
  while (!sweep.output().includes('launch 2 ')) {
    await Promise.race([
      sleep(20),
      sweep.result.then(({ stderr }) => {
        throw new Error(`the sweep ended: ${stderr}`);
      }),
    ]);
  }
});

afterAll(async () => {
  sweep.kill('SIGTERM');
  await sweep.result;
  await study[Symbol.asyncDispose]();
});

test('rank works while a sweep runs', async () => {
  const { ranking } = await study.json<{ ranking: { is_baseline: boolean }[] }>('rank', '--json');
  expect(ranking.some((row) => row.is_baseline)).toBe(true);
});

test('status tells of the launch that runs', async () => {
  const [status] = await study.json<{ running: { trial: number } | null }[]>('status', '--json');
  expect(status?.running?.trial).toBe(1);
});

test('a second sweep of the target is refused, naming the first', async () => {
  const other = `${study.folder}/other.sqlite`;
  const { exitCode, stderr } = await runCli(['sweep', study.file, '--db', other]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`http://127.0.0.1:${study.port} is in use`);
  expect(stderr).toContain(`pid ${sweep.pid}`);
});
