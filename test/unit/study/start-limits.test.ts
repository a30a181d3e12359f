import { expect, test } from 'vitest';
import { startLimits } from '../../../src/study/start-limits.ts';

const study = { stallSeconds: 300, totalSeconds: 1800, stopSeconds: 60, gpuReleaseSeconds: 120 };

test('a first start has the limits of the study alone', () => {
  expect(startLimits(study, undefined)).toEqual({ stallSeconds: 300, totalSeconds: 1800 });
});

test('a baseline of 90 s expects trials within five minutes (A11)', () => {
  expect(startLimits(study, 90).expectedSeconds).toBe(300);
});

test('a slow baseline expects three times its start', () => {
  expect(startLimits(study, 200).expectedSeconds).toBe(600);
});

test('the limit of the study is never exceeded', () => {
  expect(startLimits(study, 900).expectedSeconds).toBe(1800);
});
