import { expect, test } from 'vitest';
import type { Condition, Constraint } from '../../../src/search-space/constraints.ts';
import { settleFacts } from '../../../src/sglang/constraint-facts.ts';

const equals = (value: string | number): Condition => ({ kind: 'equals', value });
const atLeast = (value: string): Condition => ({
  kind: 'compare',
  operator: '>=',
  operand: { value },
});

/** Backend T only for data-centre Blackwell (field report B15). */
const onlyOnTen: Constraint = {
  text: 'T only on 10.0',
  line: 7,
  when: { 'attention-backend': equals('T') },
  require: { 'gpu.capability': equals('10.0') },
};

test('a value that needs capability 10.0 is forbidden on 12.0', () => {
  const { constraints } = settleFacts([onlyOnTen], { gpuCapability: '12.0' });
  expect(constraints).toEqual([
    { text: 'T only on 10.0', line: 7, when: {}, forbid: { 'attention-backend': equals('T') } },
  ]);
});

test('a required fact that holds leaves nothing to reject', () => {
  expect(settleFacts([onlyOnTen], { gpuCapability: '10.0' }).constraints).toEqual([]);
});

test('a fact that is not known rejects nothing and is reported', () => {
  const { constraints, undecided } = settleFacts([onlyOnTen], {});
  expect(constraints).toEqual([]);
  expect(undecided).toEqual([{ constraint: onlyOnTen, facts: ['gpu.capability'] }]);
});

test('a condition on the version drops out of `when` where it holds, versions by their parts', () => {
  const rule: Constraint = {
    text: 'r',
    when: { 'sglang.version': atLeast('0.5.9') },
    forbid: { 'page-size': equals(64) },
  };
  expect(settleFacts([rule], { version: '0.5.23' }).constraints).toEqual([
    { text: 'r', when: {}, forbid: { 'page-size': equals(64) } },
  ]);
  expect(settleFacts([rule], { version: '0.5.2' }).constraints).toEqual([]);
});

test('constraints about parameters alone stay as they are', () => {
  const rule: Constraint = { text: 'p', when: {}, forbid: { 'page-size': equals(64) } };
  expect(settleFacts([rule], {}).constraints).toEqual([rule]);
});
