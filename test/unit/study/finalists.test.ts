import { expect, test } from 'vitest';
import { affordableFinalists, confirmingLaunches } from '../../../src/study/finalists.ts';

test.each([
  {
    finalists: 3,
    launches: 13,
    trials: 20,
    want: 48,
    why: '12 of three finalists and the baseline',
  },
  { finalists: 3, launches: 13, trials: 1, want: 24, why: 'one trial and the baseline' },
  { finalists: 3, launches: 13, trials: 0, want: 0, why: 'nothing to confirm' },
  { finalists: 3, launches: 1, trials: 20, want: 0, why: 'the search launch alone' },
])('$want confirming launches at most: $why', ({ finalists, launches, trials, want }) => {
  expect(confirmingLaunches(finalists, launches, trials)).toBe(want);
});

test('fewer launches confirm fewer finalists, with six rounds each where that is possible', () => {
  expect([48, 24, 18, 12, 3].map((left) => affordableFinalists(3, 12, left))).toEqual([
    3, 3, 2, 1, 1,
  ]);
});
