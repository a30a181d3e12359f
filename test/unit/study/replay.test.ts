import { expect, test } from 'vitest';
import { replay } from '../../../src/study/replay.ts';
import { profile, trial } from '../ranking/samples.ts';

const STUDY = { profile: profile('16:1'), objective: { score: 'relative', limits: [] } } as const;
const VALUES = [0, 1, 2, 3];
const DATA = VALUES.flatMap((a) => VALUES.map((b) => ({ a, b }))).map((assignment, number) =>
  trial(number, { 16: 1000 * (1 + 0.02 * assignment.a + 0.03 * assignment.b) }, { assignment }),
);

test('a replay of the grid takes the recorded trials in their order', () => {
  const steps = replay(DATA, STUDY, 'grid');
  expect(steps.map((step) => step.trial)).toEqual(DATA.slice(1).map((one) => one.trial));
  expect(steps.at(-1)?.bestSoFar).toBeCloseTo(1.15, 10);
});

test('the budgeted sampler finds the best of 15 recorded trials sooner than the grid', () => {
  const found = (sampler: 'grid' | 'budgeted') =>
    replay(DATA, STUDY, sampler).findIndex(({ bestSoFar }) => bestSoFar > 1.149);
  expect(found('budgeted')).toBeLessThan(found('grid'));
});

test('a replay ends after the launches it may have', () => {
  expect(replay(DATA, STUDY, 'budgeted', 3)).toHaveLength(3);
});
