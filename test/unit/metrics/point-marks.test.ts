import { expect, test } from 'vitest';
import { serverBound } from '../../../src/metrics/point-marks.ts';

test.each([
  { concurrency: 32, decodingConcurrency: 24.1, runningLimit: null, bound: true },
  { concurrency: 32, decodingConcurrency: 24.1, runningLimit: 29, bound: true },
  { concurrency: 16, decodingConcurrency: 9.9, runningLimit: 29, bound: false },
  { concurrency: 16, decodingConcurrency: 14.3, runningLimit: null, bound: false },
  { concurrency: 4, decodingConcurrency: 3.4, runningLimit: null, bound: false },
])(
  '$decodingConcurrency of $concurrency decoding at a running limit of $runningLimit: bound by the server is $bound',
  ({ bound, ...facts }) => {
    expect(serverBound(facts) !== undefined).toBe(bound);
  },
);
