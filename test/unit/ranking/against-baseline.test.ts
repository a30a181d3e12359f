import { expect, test } from 'vitest';
import { againstBaseline } from '../../../src/ranking/against-baseline.ts';
import { sample, trial } from './samples.ts';

/** A study whose baseline had these speeds, one launch each. */
function study(...speeds: readonly number[]) {
  const baseline = trial(0, { 4: speeds.map((speed, launchId) => sample(speed, { launchId })) });
  return { kind: 'relative', profile: new Map([[4, 1]]), trials: [baseline] } as const;
}

const launch = (speed: number) => new Map([[4, sample(speed)]]);

test('one launch is worse below the noise of the study’s own launches', () => {
  // Logs ln 98, ln 100, ln 102: standard deviation 0.0200, mean ln 99.99. Of one launch against
  // the mean of three: 0.0200 * sqrt(1 + 1/3) = 0.0231; times t(0.95, 2) = 2.920 gives 0.0675.
  const noisy = study(98, 100, 102);
  expect(againstBaseline(noisy, launch(100))?.noiseFraction).toBeCloseTo(Math.expm1(0.0675), 3);
  expect(againstBaseline(noisy, launch(94))?.isWorse).toBe(false);
  expect(againstBaseline(noisy, launch(93))?.isWorse).toBe(true);
  expect(againstBaseline(noisy, launch(150))).toMatchObject({ isWorse: false });
});

test('4 % is noise where the study repeated nothing (C20)', () => {
  expect(againstBaseline(study(100), launch(96))?.isWorse).toBe(false);
  expect(againstBaseline(study(100), launch(94))).toMatchObject({ isWorse: true });
});

test('the change is told as a whole and by concurrency', () => {
  const comparison = againstBaseline(study(100), launch(110));
  expect(comparison?.changeFraction).toBeCloseTo(0.1, 9);
  expect(comparison?.perConcurrency.get(4)).toBeCloseTo(0.1, 9);
});

test('nothing is said without a baseline, or without all of the profile', () => {
  expect(againstBaseline({ ...study(100), trials: [] }, launch(100))).toBeUndefined();
  expect(againstBaseline(study(100), new Map([[1, sample(100)]]))).toBeUndefined();
});
