import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DROP_IN_NAME } from '../../../src/server/systemd-access.ts';
import {
  isRecommendationName,
  recommendationName,
} from '../../../src/service-file/drop-in-name.ts';

test.each([
  { others: [], want: 'zz-nightsweep.conf' },
  { others: ['override.conf'], want: 'zz-nightsweep.conf' },
  { others: ['zz-nightsweep.conf'], want: 'zz-nightsweep2.conf' },
  { others: ['zz-top.conf'], want: 'zzz-nightsweep.conf' },
  { others: ['zzz-x.conf'], want: 'zzzz-nightsweep-applied.conf' },
  { others: ['zzzz.conf'], want: undefined },
])('after $others comes $want', ({ others, want }) => {
  expect(recommendationName(others)).toBe(want);
});

test('a name comes after all others and before that of a later sweep', () => {
  const name = fc.stringMatching(/^[a-z0-9-]{1,6}\.conf$/);
  fc.assert(
    fc.property(fc.array(name), (others) => {
      const own = recommendationName(others);
      if (own === undefined) return;
      expect([...others, own, DROP_IN_NAME].sort().slice(-2)).toEqual([own, DROP_IN_NAME]);
      expect(isRecommendationName(own)).toBe(true);
    }),
  );
});
