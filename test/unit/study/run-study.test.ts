import { describe, expect, test } from 'vitest';
import type { FlagValue } from '../../../src/search-space/assignment.ts';
import { scriptedSweep } from '../../helpers/scripted-sweep.ts';

type Flags = Readonly<Record<string, FlagValue>>;

const VALUES = [8, 16, 24, 32, 40, 48, 56, 64];
const PARAMETERS = { 'max-running-requests': VALUES, 'schedule-policy': ['fcfs', 'lpm'] };
const PRODUCTION = ['--max-running-requests', '8', '--schedule-policy', 'fcfs'];

/** Half as fast under lpm, at every concurrency; else a little faster with more running. */
function speed(flags: Flags, concurrency: number): number {
  const limit = Number(flags['max-running-requests'] ?? 8);
  return concurrency * (flags['schedule-policy'] === 'lpm' ? 50 : 100) * (1 + limit / 1000);
}

const base = { parameters: PARAMETERS, production: PRODUCTION };

describe('a trial that cannot win any more', () => {
  test('is dropped in the middle of its launch, apart from failures', async () => {
    const sweep = await scriptedSweep({ ...base, speed });
    const dropped = sweep.trials.filter((line) => line.includes('could-not-win'));
    expect(dropped.length).toBeGreaterThan(0);
    expect(dropped[0]).toContain('dropped: could not win: after C=1 its score would be -');
    const reasons = sweep
      .ranking()
      .trials.flatMap(({ reasons: own }) => own.map((one) => one.code));
    expect(new Set(reasons)).toEqual(new Set(['dropped']));
  });

  test('is measured whole where the study asks for it', async () => {
    const sweep = await scriptedSweep({ ...base, speed, measure: { drop_losers: false } });
    expect(sweep.trials.filter((line) => !line.endsWith('completed'))).toEqual([]);
  });

  test('is not launched again by a sweep that goes on', async () => {
    const before = await scriptedSweep({ ...base, speed });
    const after = await scriptedSweep({ ...base, speed, store: before.store });
    expect(after.launches).toEqual([]);
    expect(after.trials).toEqual(before.trials);
  });

  test('is launched again when the machine jumped meanwhile', async () => {
    // Between two looks at the baseline the machine falls to half its speed, for good.
    const even = (_flags: Flags, concurrency: number, launch: number) =>
      concurrency * (launch > 10 ? 50 : 100);
    const sweep = await scriptedSweep({ ...base, speed: even });
    expect(sweep.events.some(({ type }) => type === 'jump')).toBe(true);
    const ended = sweep.events.flatMap((event) =>
      event.type === 'trial-ended' && event.cause === 'could-not-win' ? event.trial : [],
    );
    expect(ended.length).toBeGreaterThan(0);
    expect(sweep.trials.filter((line) => line.includes('could-not-win'))).toEqual([]);
  });
});

test('the baseline is measured first and along the way, and every trial once', async () => {
  const sweep = await scriptedSweep({ ...base, speed: (_flags, c) => 100 * c });
  const isBaseline = (flags: Flags) =>
    flags['max-running-requests'] === 8 && flags['schedule-policy'] === 'fcfs';
  const at = sweep.launches.flatMap((flags, index) => (isBaseline(flags) ? index : []));
  expect(at).toEqual([0, 7, 14]);
  expect(sweep.launches).toHaveLength(16 + 2);
});

test('a budget of launches ends the search with launches kept for the finalists', async () => {
  const sweep = await scriptedSweep({
    ...base,
    speed,
    measure: { finalists: 1, launches: 4 },
    budget: { launches: 12 },
  });
  expect(sweep.launches).toHaveLength(12);
  // 2 x 3 confirming launches are kept: half of the budget.
  const finalists = sweep.events.findIndex(({ type }) => type === 'finalists');
  const confirming = sweep.events.slice(finalists).filter(({ type }) => type === 'launch-started');
  expect(confirming).toHaveLength(6);
});

test('each confirming launch says how many are still to come', async () => {
  const sweep = await scriptedSweep({
    parameters: { 'max-running-requests': [8, 16] },
    production: ['--max-running-requests', '8'],
    speed: (_flags, c) => 100 * c,
    measure: { finalists: 1, launches: 3 },
  });
  const left = sweep.events.flatMap((event) =>
    event.type === 'launch-started' ? event.launchesLeft : [],
  );
  const confirming = left.slice(-4);
  expect(confirming).toEqual([4, 3, 2, 1]);
});
