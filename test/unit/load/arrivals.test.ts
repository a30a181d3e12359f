import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ArrivalProcess, arrivalTimes } from '../../../src/load/arrivals.ts';
import { mean, standardDeviation } from '../../../src/metrics/statistics.ts';

const open = (process: ArrivalProcess, burstiness = 1, seed = 1) =>
  ({ kind: 'open', requestsPerSecond: 20, process, burstiness, seed }) as const;

const gapsOf = (times: readonly number[]) => times.slice(1).map((at, i) => at - (times[i] ?? 0));

/** Standard deviation over mean: 1 for exponential gaps, 1 / sqrt(shape) for gamma. */
function variation(process: ArrivalProcess, burstiness?: number): number {
  const gaps = gapsOf(arrivalTimes(open(process, burstiness), 20_000));
  return (standardDeviation(gaps) ?? 0) / (mean(gaps) ?? 1);
}

describe('arrivals of an open loop', () => {
  test('constant ones come at equal distances', () => {
    expect(arrivalTimes(open('constant'), 5)).toEqual([0, 50, 100, 150, 200]);
  });

  test.each([
    { process: 'poisson', burstiness: 1, want: 1 },
    { process: 'gamma', burstiness: 1, want: 1 },
    { process: 'gamma', burstiness: 0.25, want: 2 },
    { process: 'gamma', burstiness: 4, want: 0.5 },
  ] as const)('$process gaps of burstiness $burstiness vary by $want of their mean', (row) => {
    expect(variation(row.process, row.burstiness)).toBeCloseTo(row.want, 1);
  });

  test('any process and seed keeps its order and exactly its rate', () => {
    const process = fc.constantFrom<ArrivalProcess>('poisson', 'constant', 'gamma');
    fc.assert(
      fc.property(process, fc.nat(), fc.integer({ min: 2, max: 200 }), (name, seed, count) => {
        const times = arrivalTimes(open(name, 0.5, seed), count);
        expect(times).toHaveLength(count);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(times.at(-1)).toBeCloseTo((count - 1) * 50, 6);
      }),
      { numRuns: 100 },
    );
  });

  test('the same seed gives the same moments, another seed others', () => {
    const times = arrivalTimes(open('poisson', 1, 7), 10);
    expect(arrivalTimes(open('poisson', 1, 7), 10)).toEqual(times);
    expect(arrivalTimes(open('poisson', 1, 8), 10)).not.toEqual(times);
  });
});
