import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  distribution,
  geometricMean,
  logMeanInterval,
  mean,
  meanInterval,
  median,
  percentile,
  standardDeviation,
  studentTQuantile,
  studentTUpperTail,
} from '../../../src/metrics/statistics.ts';

const finite = fc.double({ min: -1e6, max: 1e6, noNaN: true });

describe('percentiles (C18)', () => {
  test.each([
    { values: [1, 2], percent: 95, want: 2 },
    { values: [10, 20, 30], percent: 99, want: 30 },
    { values: [10, 20, 30], percent: 50, want: 20 },
    { values: [7], percent: 99, want: 7 },
    { values: [], percent: 99, want: undefined },
    { values: Array.from({ length: 20 }, (_, i) => i + 1), percent: 95, want: 19 },
  ])('p$percent of $values is $want', ({ values, percent, want }) => {
    expect(percentile(values, percent)).toBe(want);
  });

  test('a distribution is ordered and inside its minimum and maximum', () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 200 }), (values) => {
        const d = distribution(values);
        if (d === null) throw new Error('a distribution of values is not null');
        const ordered = [d.min, d.median, d.p90, d.p95, d.p99, d.max];
        expect(ordered).toEqual(ordered.toSorted((a, b) => a - b));
        expect(d.mean).toBeGreaterThanOrEqual(d.min);
        expect(d.mean).toBeLessThanOrEqual(d.max);
        expect(d.n).toBe(values.length);
      }),
    );
  });

  test('there is no distribution of nothing', () => {
    expect(distribution([])).toBeNull();
  });
});

describe('mean and spread', () => {
  test('the sample deviation of 2, 4, 4, 4, 5, 5, 7, 9 is sqrt(32 / 7)', () => {
    expect(mean([2, 4, 4, 4, 5, 5, 7, 9])).toBe(5);
    expect(standardDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBeCloseTo(Math.sqrt(32 / 7), 14);
  });

  test('one value has no spread and no interval', () => {
    expect(standardDeviation([3])).toBeUndefined();
    expect(meanInterval([3], 0.95)).toBeUndefined();
  });

  test('the median of an even number of values lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  test('the interval of 9, 10, 11 is 10 +- 4.302652729749 / sqrt(3)', () => {
    const half = 4.302652729749464 / Math.sqrt(3);
    const interval = meanInterval([9, 10, 11], 0.95);
    expect(interval?.low).toBeCloseTo(10 - half, 10);
    expect(interval?.high).toBeCloseTo(10 + half, 10);
  });

  test('a log interval scales with its values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1, max: 1000, noNaN: true }), { minLength: 2, maxLength: 9 }),
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (values, factor) => {
          const one = logMeanInterval(values, 0.95);
          const scaled = logMeanInterval(
            values.map((value) => value * factor),
            0.95,
          );
          for (const key of ['estimate', 'low', 'high'] as const) {
            const want = (one?.[key] ?? 0) * factor;
            expect(Math.abs((scaled?.[key] ?? 0) - want) / want).toBeLessThan(1e-6);
          }
        },
      ),
    );
  });

  test('zero or negative values have no geometric mean', () => {
    expect(geometricMean([4, 9])).toBeCloseTo(6, 12);
    expect(geometricMean([4, 0])).toBeUndefined();
    expect(logMeanInterval([4, -1], 0.95)).toBeUndefined();
  });
});

describe('Student t', () => {
  test.each([
    { p: 0.975, df: 1, want: Math.tan(Math.PI * 0.475) },
    { p: 0.9995, df: 1, want: Math.tan(Math.PI * 0.4995) },
    { p: 0.975, df: 2, want: 0.95 / Math.sqrt(2 * 0.975 * 0.025) },
    { p: 0.995, df: 3, want: 5.840909309733355 },
    { p: 0.975, df: 5, want: 2.5705818366147395 },
    { p: 0.975, df: 10, want: 2.2281388519649385 },
    { p: 0.975, df: 30, want: 2.0422724563012373 },
    { p: 0.95, df: 120, want: 1.6576508993558355 },
  ])('the $p quantile with $df degrees is $want', ({ p, df, want }) => {
    expect(Math.abs(studentTQuantile(p, df) / want - 1)).toBeLessThan(1e-9);
  });

  test('with very many degrees it is the normal quantile', () => {
    expect(studentTQuantile(0.975, 1e8)).toBeCloseTo(1.959963984540054, 7);
  });

  test('quantile and tail are inverse, and symmetric around zero', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 1 - 1e-6, noNaN: true }),
        fc.double({ min: 0.5, max: 500, noNaN: true }),
        (p, df) => {
          const t = studentTQuantile(p, df);
          expect(Math.abs(1 - studentTUpperTail(t, df) - p)).toBeLessThan(1e-9);
          expect(Math.abs(studentTQuantile(1 - p, df) + t)).toBeLessThan(1e-9 * (1 + Math.abs(t)));
        },
      ),
    );
  });

  test('a probability of 0 or 1 is refused', () => {
    expect(() => studentTQuantile(1, 5)).toThrow(RangeError);
  });
});
