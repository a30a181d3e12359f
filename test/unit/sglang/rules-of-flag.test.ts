import { expect, test } from 'vitest';
import { allRules } from '../../../src/sglang/rules/all-rules.ts';
import { rulesOfFlag } from '../../../src/sglang/rules-of-flag.ts';

test('draft tokens are touched by the rule that rewrites them and by the one that limits them', () => {
  const ids = rulesOfFlag('speculative-num-draft-tokens').map(({ id }) => id);
  expect(ids).toEqual(
    expect.arrayContaining(['draft-tokens-at-topk-1', 'more-draft-tokens-than-tree']),
  );
});

test('a flag that no rule names has none', () => {
  expect(rulesOfFlag('host')).toEqual([]);
});

test('every rule has its own id, a version and a source line', () => {
  const ids = allRules.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { id, from, source } of allRules) {
    expect(from, id).toMatch(/^\d+\.\d+\.\d+$/);
    expect(source, id).toMatch(/\.py/);
  }
});
