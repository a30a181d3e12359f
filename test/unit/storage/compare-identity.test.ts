import { expect, test } from 'vitest';
import { compareIdentity } from '../../../src/storage/compare-identity.ts';
import { identity } from './identity.ts';

// Field report D9: on resume the saved experiment overrode what the user now passed.
test('another output length is named and forbidden (D9)', () => {
  const given = { ...identity, workload: { prompts: 'code', output_tokens: 500 } };
  expect(compareIdentity(identity, given)).toEqual([
    { field: 'workload.output_tokens', stored: '1000', given: '500', effect: 'forbidden' },
  ]);
});

test('another profile is named and allowed', () => {
  const [difference] = compareIdentity(identity, { ...identity, profile: new Map([[1, 1]]) });
  expect(difference).toMatchObject({ field: 'profile', given: '1:1', effect: 'allowed' });
});

test('another SGLang version is forbidden, an unknown one is not', () => {
  const effects = ['0.5.24', null].map((sglangVersion) =>
    compareIdentity(identity, { ...identity, sglangVersion }).map((d) => d.effect),
  );
  expect(effects).toEqual([['forbidden'], []]);
});

test('the same study has no differences', () => {
  expect(compareIdentity(identity, { ...identity })).toEqual([]);
});
