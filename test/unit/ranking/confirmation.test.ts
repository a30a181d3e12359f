import { describe, expect, test } from 'vitest';
import { simulateStudy } from '../../../bench/search/simulated-study.ts';
import { confirmationOf, type LaunchedTrial } from '../../../src/ranking/confirmation.ts';
import { confirmingOrder, nextConfirmingStep } from '../../../src/ranking/confirming-plan.ts';
import { decide } from '../../../src/ranking/decide.ts';
import { FIRST_CONFIRMING_ROUND } from '../../../src/ranking/phases.ts';
import { resolvableGainFraction } from '../../../src/ranking/power.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { profile, sample, trial } from './samples.ts';

/** Launches of the trials, round by round in the order given; the first column is the baseline. */
function rounds(...logs: readonly (readonly number[])[]): readonly LaunchedTrial[] {
  let launch = 0;
  const trials = (logs[0] ?? []).map((_log, number) => {
    return {
      trial: number,
      isBaseline: number === 0,
      launches: [] as LaunchedTrial['launches'][number][],
    };
  });
  for (const [r, row] of logs.entries()) {
    for (const [number, logScore] of row.entries()) {
      trials[number]?.launches.push({ launch, round: FIRST_CONFIRMING_ROUND + r, logScore });
      launch += 1;
    }
  }
  return trials;
}

describe('the confirmation', () => {
  test('takes what a round does to all of its launches out of gain and noise', () => {
    // Gain 0.05 in each round, level falling by 0.1: nothing but rounds, so the variance is 0.
    const levels = [0, -0.1, -0.2, -0.3, -0.4];
    const confirmed = confirmationOf(rounds(...levels.map((l) => [l, l + 0.05])), 0.95);
    expect(confirmed?.gains.get(1)?.logGain).toBeCloseTo(0.05, 12);
    expect(confirmed?.variance).toBeCloseTo(0, 12);
  });

  test('has the variance of a randomized block design', () => {
    // Differences 0.02 and 0.06: mean 0.04, variance 0.0008; one launch has half of it, 0.0004.
    const trials = rounds([0, 0.02], [0, 0.06], [0, 0.02], [0, 0.06], [0, 0.04]);
    const confirmed = confirmationOf(trials, 0.95);
    const differences = [0.02, 0.06, 0.02, 0.06, 0.04];
    const squares = differences.reduce((sum, d) => sum + (d - 0.04) ** 2, 0);
    expect(confirmed?.degreesOfFreedom).toBe(4);
    expect(confirmed?.variance).toBeCloseTo(squares / 4 / 2, 12);
  });

  test('leaves the launch out that chose the finalist', () => {
    const launches = [1000, 1030, 1031, 1029, 1030, 1030];
    const of = (speeds: readonly number[]) =>
      speeds.map((speed, i) =>
        sample(speed, { launchId: i, round: i === 0 ? 0 : FIRST_CONFIRMING_ROUND + i }),
      );
    const ranking = rankTrials({
      trials: [
        trial(0, { 16: of([1000, 1000, 1001, 999, 1000, 1000]) }),
        trial(1, { 16: of([1300, ...launches.slice(1)]) }),
      ],
      profile: profile('16:1'),
      scoreKind: 'relative',
    });
    expect(ranking.trials[0]?.score).toBeCloseTo(1.03, 3);
    expect(decide(ranking)).toMatchObject({ kind: 'winner', confirmingLaunches: 5 });
  });

  test('voids the rounds in which the machine jumped', () => {
    const calm = Array.from({ length: 6 }, (_, r) => [0.001 * (r % 2), 0.03]);
    const slow = Array.from({ length: 6 }, (_, r) => [-0.3 + 0.001 * (r % 2), -0.27]);
    const confirmed = confirmationOf(rounds(...calm, ...slow), 0.95);
    expect(confirmed?.voidRounds).toEqual([FIRST_CONFIRMING_ROUND + 5]);
  });

  test('is absent while nothing is confirmed', () => {
    expect(confirmationOf([], 0.95)).toBeUndefined();
  });
});

describe('the confirming rounds', () => {
  test('come in mirrored pairs and end with the baseline', () => {
    const order = [0, 1, 2, 3].map((round) => confirmingOrder(['a', 'b'], 'base', round, 4));
    expect(order[0]).toEqual(['base', 'b', 'a']);
    expect(order[1]).toEqual(['a', 'b', 'base']);
    expect(order[3]?.at(-1)).toBe('base');
  });

  test('go on without a finalist whose upper end is no gain', () => {
    const bad = Array.from({ length: 6 }, (_, r) => [0.001 * (r % 2), 0.02 + 0.02 * (r % 3), -0.1]);
    expect(nextConfirmingStep(confirmationOf(rounds(...bad), 0.95), [1, 2], 12)).toEqual({
      state: 'continue',
      finalists: [1],
    });
  });

  test('end early when nothing can win', () => {
    const bad = Array.from({ length: 4 }, (_, r) => [0.001 * (r % 2), -0.1]);
    expect(nextConfirmingStep(confirmationOf(rounds(...bad), 0.95), [1], 12)).toEqual({
      state: 'done',
      why: 'hopeless',
    });
  });

  test('resolve +3 % at 1.5 % noise in the default design', () => {
    const gain = resolvableGainFraction({ noiseFraction: 0.015, finalists: 3, rounds: 12 });
    expect(gain).toBeGreaterThan(0.015);
    expect(gain).toBeLessThan(0.03);
  });
});

describe('simulated studies (bench/search/statistics.ts runs 2,000 of each)', () => {
  const DEFAULTS = { finalists: 3, rounds: 12, baselineEvery: 6 } as const;
  const winners = (study: Parameters<typeof simulateStudy>[0], studies: number, seed: number) =>
    Array.from({ length: studies }, (_, i) => simulateStudy(study, seed + i).decision).map(
      (decision) => (decision.kind === 'winner' ? decision.winner.trial : null),
    );

  test('two identical configurations at 6 % noise make at most 1 winner in 20 (C20)', () => {
    const found = winners({ ...DEFAULTS, logGains: [0], noise: 0.06 }, 20, 40);
    expect(found.filter((one) => one !== null).length).toBeLessThanOrEqual(1);
  });

  test('a true +3 % at 1.5 % noise is recommended in 18 of 20 or more', () => {
    const found = winners({ ...DEFAULTS, logGains: [Math.log(1.03), 0], noise: 0.015 }, 20, 40);
    expect(found.filter((one) => one === 1).length).toBeGreaterThanOrEqual(18);
  });

  test('10 % slower halfway crowns no early configuration (C14)', () => {
    const drift = (launch: number) => (launch < 9 ? 0 : Math.log(0.9));
    const found = winners(
      { ...DEFAULTS, logGains: [0, 0, 0, 0, 0, 0, 0, 0], noise: 0.01, drift },
      20,
      40,
    );
    expect(found.filter((one) => one !== null).length).toBeLessThanOrEqual(1);
  });

  test('an outage of the early lead does not hide a late +6 %', () => {
    const drift = (launch: number) => Math.log(1 - 0.1 * Math.min(1, launch / 40));
    const logGains = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Math.log(1.06)];
    const found = winners({ ...DEFAULTS, logGains, noise: 0.01, drift }, 10, 40);
    expect(found.filter((one) => one === 12).length).toBeGreaterThanOrEqual(9);
  });
});
