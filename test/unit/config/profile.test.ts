import { expect, test } from 'vitest';
import { parseProfile, readProfile } from '../../../src/config/profile.ts';

test('a profile is sorted by concurrency', () => {
  expect([...parseProfile('16:0.2,1:0.5, 4:0.3')]).toEqual([
    [1, 0.5],
    [4, 0.3],
    [16, 0.2],
  ]);
});

test('thirds written with seven digits sum to 1', () => {
  expect(readProfile({ 1: 0.3333333, 4: 0.3333333, 16: 0.3333333 })).toHaveProperty('profile');
});

test('a concurrency of share 0 is kept: it is measured and has no say', () => {
  expect([...parseProfile('1:1,64:0')]).toEqual([
    [1, 1],
    [64, 0],
  ]);
});

test('shares that do not sum to 1 are refused with the sum and the scaled shares', () => {
  expect(readProfile({ 1: 0.4, 4: 0.4 })).toEqual({
    problems: [
      {
        message: 'the shares sum to 0.8, not 1',
        hint: 'scaled to 1 they would be {1: 0.5, 4: 0.5}',
      },
    ],
  });
});

test('percentages are refused with the fractions to write', () => {
  expect(readProfile({ 1: 45, 4: 55 })).toMatchObject({
    problems: [{ hint: 'write fractions, not percentages: {1: 0.45, 4: 0.55}' }],
  });
});

test.each(['1', '1:x', '1:0.5,', '1:0.5;4:0.5', '0:1', '1.5:1', '-1:1', '1:-1', '1:0.5,1:0.5'])(
  'the profile text %s is refused',
  (text) => {
    expect(() => parseProfile(text)).toThrow(/^profile "/);
  },
);
