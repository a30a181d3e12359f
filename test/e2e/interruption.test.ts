import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { integrity, plannedKeys, rows } from '../helpers/database.ts';
import { leftOver, leftOverAfter } from '../helpers/left-over.ts';
import { type RunningCli, runCli } from '../helpers/run-cli.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

/** Many in flight are served one at a time by production: the trial with 8 is the finalist. */
const PARTS = {
  unitFlags: '--max-running-requests 1',
  parameters: { 'max-running-requests': [1, 2, 8] },
  profile: { 1: 0.2, 8: 0.8 },
  workload: { requests: 16 },
  measure: { finalists: 1, launches: 2 },
};
/** Confirming rounds are numbered from 1000 on; trial 1 is no finalist. */
const ALL_KEYS = [0, 1, 2].flatMap((trial) =>
  [0, 1000].flatMap((round) =>
    trial === 1 && round === 1000 ? [] : [1, 8].map((c) => `${trial}/${round}/${c}/0`),
  ),
);

/** Longer than a whole sweep takes here: kills fall on every phase. */
const LONGEST_MS = 6000;
const KILLS = 20;
const KILLS_PER_SWEEP = 5;

let study: SimulatedStudy;
let tuners: number[];

beforeEach(async () => {
  study = await simulatedStudy(PARTS);
  tuners = [];
});

afterEach(() => study[Symbol.asyncDispose]());

function sweep(): RunningCli {
  const running = study.start('sweep');
  tuners.push(running.pid);
  return running;
}

const traces = () => ({ folder: study.folder, port: study.port, tuners });

/** The same sequence for the same seed (a linear congruential generator, Numerical Recipes). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

async function waitForOutput(running: RunningCli, text: string | RegExp): Promise<void> {
  const ended = running.result.then(({ stdout, stderr }) => {
    throw new Error(`it ended before it said "${String(text)}": ${stdout}${stderr}`);
  });
  const isSaid = () =>
    typeof text === 'string' ? running.output().includes(text) : text.test(running.output());
  const said = (async () => {
    while (!isSaid()) await sleep(10);
  })();
  await Promise.race([said, ended]);
}

describe('kill -9 of the tuner', () => {
  const seed = 20261201;
  const random = randomFrom(seed);

  test.each(Array.from({ length: KILLS / KILLS_PER_SWEEP }, (_, i) => i))(
    `at random moments changes nothing of what is measured (seed ${seed}, sweep %i)`,
    async () => {
      const moments: number[] = [];
      for (let kill = 0; kill < KILLS_PER_SWEEP; kill += 1) {
        const atMs = Math.round(200 + random() * LONGEST_MS);
        moments.push(atMs);
        const running = sweep();
        await Promise.race([sleep(atMs), running.result]);
        running.kill('SIGKILL');
        await running.result;
      }
      const last = await sweep().result;
      const where = `killed after ${moments.join(', ')} ms; then:\n${last.stdout}${last.stderr}`;
      expect([0, 3], where).toContain(last.exitCode);
      expect(plannedKeys(study.database), where).toEqual(ALL_KEYS);
      expect(integrity(study.database), where).toBe('ok');
      expect(await leftOverAfter(5, traces()), where).toEqual([]);
    },
  );

  test('leaves no server and no watchdog, without any further command', async () => {
    const running = sweep();
    await waitForOutput(running, 'ready after');
    expect(leftOver(traces()).length).toBeGreaterThan(1);
    running.kill('SIGKILL');
    await running.result;
    expect(await leftOverAfter(10, traces())).toEqual([]);
  });

  test('keeps what was measured: only the rest is measured when it goes on (D4)', async () => {
    const running = sweep();
    await waitForOutput(running, 'launch 2 ');
    running.kill('SIGKILL');
    await running.result;
    const kept = rows(study.database, 'SELECT id, started_at_ms FROM measurements');
    expect(kept.length).toBeGreaterThanOrEqual(2);
    const { stdout } = await sweep().result;
    expect(stdout).toContain(`${kept.length} measurements kept`);
    const now = rows(study.database, 'SELECT id, started_at_ms FROM measurements');
    expect(now).toEqual(expect.arrayContaining([...kept]));
    expect(plannedKeys(study.database)).toEqual(ALL_KEYS);
  });
});

describe('kill -9 between two measurements of a launch', () => {
  test.each([
    ['the trial that turns out best makes it the finalist all the same', 'launch 3  #2'],
    ['a confirming launch of the baseline needs no further round', 'launch 5  baseline'],
  ])('of %s', async (_claim, launch) => {
    const running = sweep();
    await waitForOutput(running, new RegExp(`${launch}[^]*C=1 +[0-9.]+ tok/s`));
    running.kill('SIGKILL');
    await running.result;
    const { stdout } = await sweep().result;
    expect(stdout).toContain('finalists: #2');
    expect(plannedKeys(study.database)).toEqual(ALL_KEYS);
  });
});

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', (signal) => {
  test('stops the server, exits with 130 and prints the command that goes on', async () => {
    const running = sweep();
    await waitForOutput(running, 'C=1 ');
    running.kill(signal);
    const { exitCode, stderr } = await running.result;
    expect(exitCode).toBe(130);
    expect(await leftOverAfter(1, traces())).toEqual([]);

    const words = /go on with: nightsweep (.*)/.exec(stderr)?.[1]?.split(' ') ?? [];
    expect(words).toEqual(['sweep', study.file, '--db', study.database]);
    const { exitCode: resumed } = await runCli(words);
    expect([0, 3]).toContain(resumed);
    expect(plannedKeys(study.database)).toEqual(ALL_KEYS);
  });

  test('while a server starts ends it too', async () => {
    await study.write({ ...PARTS, switches: ['--sim-stall-at', 'load'] });
    const running = sweep();
    await waitForOutput(running, 'launch 1 ');
    await sleep(500);
    running.kill(signal);
    expect((await running.result).exitCode).toBe(130);
    expect(await leftOverAfter(1, traces())).toEqual([]);
  });
});
