import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { leftOverAfter } from '../helpers/left-over.ts';
import {
  type SimulatedStudy,
  type StudyParts,
  simulatedStudy,
} from '../helpers/simulated-study.ts';
import { exported, points } from '../helpers/study-export.ts';

let study: SimulatedStudy | undefined;

afterEach(async () => {
  await study?.[Symbol.asyncDispose]();
  study = undefined;
});

/** Sweeps a study in which the second value of a parameter makes the server misbehave. */
async function sweep(parts: StudyParts) {
  study = await simulatedStudy(parts);
  const running = study.start('sweep');
  const result = await running.result;
  const traces = { folder: study.folder, port: study.port, tuners: [running.pid] };
  expect(await leftOverAfter(2, traces)).toEqual([]);
  const { stdout: ranking } = await study.run('rank');
  return { ...result, data: await exported(study), ranking };
}

function wrapped(...mode: string[]): readonly string[] {
  const program = fileURLToPath(new URL('./servers/wrapped-simulator.mjs', import.meta.url));
  return [process.execPath, program, ...mode, '--'];
}

describe('a server that dies', () => {
  test('with status 0 in the middle of 16 in flight is a crash whose numbers are not ranked (A9)', async () => {
    const { data, ranking, exitCode } = await sweep({
      parameters: { 'sim-exit-at-request': [null, 120] },
      switches: ['--sim-exit-code', '0'],
      profile: { 1: 0.5, 16: 0.5 },
      workload: { requests: 64 },
    });
    expect(exitCode).toBe(3);
    expect(data.trials[1]).toMatchObject({ state: 'partial' });
    expect(data.trials[1]?.reason).toMatch(/^crashed at 16 in flight: .*status 0/);
    expect(points(data)).toEqual(['0@1', '0@16', '1@1']);
    expect(ranking).toMatch(/trial 1 is out: did not survive C=16/);
  });

  test('at the last point of the sweep leaves all others to be exported (D5)', async () => {
    const { data } = await sweep({
      parameters: { 'sim-oom-above': [null, 3] },
      profile: { 1: 0.4, 2: 0.3, 4: 0.3 },
    });
    expect(points(data)).toEqual(['0@1', '0@2', '0@4', '1@1', '1@2']);
    expect(data.trials[1]?.reason).toMatch(/^crashed at 4 in flight: .*out of memory/i);
  });

  test('while it starts ends the wait at once, though the limit is 20 minutes (D2)', async () => {
    const { data } = await sweep({
      parameters: { 'sim-exit-at': [null, 'load'] },
      start: { stall: '20m', total: '20m' },
    });
    expect(data.trials[1]).toMatchObject({ state: 'infeasible' });
    expect(points(data)).toEqual(['0@1', '0@4']);
  });

  test('leaving a child that ignores SIGTERM does not hinder the next launch (A1)', async () => {
    const { data } = await sweep({
      parameters: { 'speculative-num-steps': [1, 2] },
      switches: ['--sim-leftover'],
      start: { stop: '1s' },
    });
    expect(data.trials.map(({ state }) => state)).toEqual(['completed', 'completed']);
  });
});

describe('a server that is up and does not serve', () => {
  test('is not ready, whatever its health route says (A5)', async () => {
    const { data } = await sweep({
      parameters: { 'sim-hang-at-request': [null, 1] },
      start: { stall: '4s', total: '8s', stop: '1s' },
    });
    expect(data.trials[1]?.state).toMatch(/^(failed|infeasible)$/);
    expect(data.launches.filter((launch) => launch['trial'] === 1)).not.toEqual([]);
    expect(points(data)).toEqual(['0@1', '0@4']);
  });

  test('refusing connections once it was ready leaves no row, and the trial is out (D16)', async () => {
    const { data, ranking } = await sweep({
      parameters: { 'speculative-num-steps': [1, 2] },
      wrapper: wrapped('refuse=1', '--when', 'speculative-num-steps=2'),
    });
    expect(points(data)).toEqual(['0@1', '0@4']);
    expect(data.trials[1]?.state).toMatch(/^(failed|partial)$/);
    expect(ranking).toContain('trial 1 is out');
  });

  test('for want of its model stops the sweep after the baseline with that text (D11)', async () => {
    const log = fileURLToPath(
      new URL('../fixtures/logs/wrong-model-path-0.5.23.log', import.meta.url),
    );
    const { exitCode, stderr, stdout, data } = await sweep({
      parameters: { 'speculative-num-steps': [1, 2, 3] },
      wrapper: wrapped(`log=${log}`),
    });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/the baseline could not be measured: .*model/i);
    expect(stdout).not.toContain('#1');
    expect(data.launches.every((launch) => launch['trial'] === 0)).toBe(true);
    expect(data.measurements).toEqual([]);
  });
});

describe('a server that looks fast since it does less', () => {
  test('refusing a fifth of the requests makes it ineligible, and the share is shown (C17)', async () => {
    const { data, ranking } = await sweep({
      parameters: { 'sim-refuse': [null, 0.2] },
      workload: { requests: 60 },
    });
    expect(data.trials[1]?.state).not.toBe('infeasible');
    expect(ranking).toMatch(/trial 1 is out: .*\d+(\.\d)? % of the requests failed at C=1/);
    const share = data.measurements.find((m) => m['trial'] === 1)?.['failure_fraction'];
    expect(share).toBeGreaterThan(0.05);
  });

  test('answering half of the requests with 40 % of the tokens makes it ineligible (C8)', async () => {
    const { data, ranking } = await sweep({
      parameters: { 'speculative-num-steps': [1, 2] },
      wrapper: wrapped('shorten=0.4', '--when', 'speculative-num-steps=2'),
      workload: { requests: 24 },
    });
    expect(points(data)).toEqual(['0@1', '0@4', '1@1', '1@4']);
    expect(ranking).toContain(
      'trial 1 is out: 50 % of the answers ended early, 0 % of the baseline',
    );
  });
});
