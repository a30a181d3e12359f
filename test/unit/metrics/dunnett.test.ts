import { expect, test } from 'vitest';
import { dunnettCritical } from '../../../src/metrics/dunnett.ts';
import { normalBelow, normalQuantile } from '../../../src/metrics/normal.ts';
import { studentTQuantile } from '../../../src/metrics/statistics.ts';

// Dunnett (1964), New tables for multiple comparisons with a control, Biometrics 20, table II (two-sided 5 %).
test.each([
  { candidates: 2, degrees: 5, want: 3.03 },
  { candidates: 2, degrees: 10, want: 2.57 },
  { candidates: 2, degrees: 20, want: 2.38 },
  { candidates: 3, degrees: 10, want: 2.76 },
  { candidates: 2, degrees: 1e6, want: 2.21 },
])('$candidates candidates at $degrees degrees: $want', ({ candidates, degrees, want }) => {
  expect(dunnettCritical(candidates, degrees, 0.95)).toBeCloseTo(want, 2);
});

test('one candidate is a t interval', () => {
  expect(dunnettCritical(1, 7, 0.95)).toBe(studentTQuantile(0.975, 7));
});

test('the normal quantile inverts the normal distribution', () => {
  for (const p of [0.001, 0.3, 0.5, 0.9, 0.9999]) {
    expect(normalBelow(normalQuantile(p))).toBeCloseTo(p, 12);
  }
});
