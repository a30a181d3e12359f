import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { createBudget, msUntil } from '../../../src/study/budget.ts';
import { launchDurations, launchesDone } from '../../../src/study/experience.ts';

/** A clock that a test sets forward. */
function clockAt(start: { ms: number }): Clock {
  return {
    nowMs: () => start.ms,
    wallMs: () => start.ms,
    sleep: async () => {},
  };
}

describe('a budget of hours', () => {
  test('knows from the launches of an earlier call how many still fit', () => {
    const budget = createBudget({ hours: 1 }, clockAt({ ms: 0 }), [600, 600]);
    expect(budget.launchesLeft()).toBe(6);
  });

  test('holds no more than its time, counted from this call', () => {
    const now = { ms: 0 };
    const budget = createBudget({ hours: 1 }, clockAt(now), [600]);
    now.ms = 50 * 60_000;
    budget.launchTook(600);
    expect(budget.allowsLaunch(0)).toBe(true);
    now.ms = 50.5 * 60_000;
    expect(budget.allowsLaunch(0)).toBe(false);
  });

  test('keeps half of itself for confirming at most', () => {
    const budget = createBudget({ hours: 1 }, clockAt({ ms: 0 }), [600]);
    expect(budget.allowsLaunch(100)).toBe(true);
    const later = { ms: 0 };
    const spent = createBudget({ hours: 1 }, clockAt(later), [600]);
    later.ms = 30 * 60_000;
    expect(spent.allowsLaunch(100)).toBe(false);
  });

  test('allows launches while nothing is known of how long one takes', () => {
    expect(createBudget({ hours: 1 }, clockAt({ ms: 0 })).allowsLaunch(10)).toBe(true);
  });
});

test('a budget of launches counts those of this call only', () => {
  const budget = createBudget({ launches: 2 }, clockAt({ ms: 0 }), [600, 600, 600]);
  budget.launchTook(600);
  expect(budget.launchesLeft()).toBe(1);
  budget.launchTook(600);
  expect(budget.allowsLaunch(0)).toBe(false);
});

test('a time of day that has passed is that of tomorrow', () => {
  const now = new Date(2026, 11, 1, 8, 0, 0);
  expect(msUntil('07:00', now)).toBe(23 * 3_600_000);
});

test('launches that were cut off tell nothing of how long one takes', () => {
  const launch = { startedAtMs: 1000, endedAtMs: 61_000, state: 'completed' as const };
  const launches = [
    launch,
    { ...launch, state: 'interrupted' as const },
    { ...launch, endedAtMs: null },
  ] as unknown as Parameters<typeof launchDurations>[0];
  expect(launchDurations(launches)).toEqual([60]);
});

test('a round counts as done once every measurement of it is kept', () => {
  const at = (trialId: number, round: number) => ({ trialId, round });
  expect(launchesDone([at(1, 0), at(1, 0), at(1, 1000), at(2, 0), at(2, 0)], 2)).toBe(2);
});
