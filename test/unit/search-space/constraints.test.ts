import { expect, test } from 'vitest';
import type { Assignment } from '../../../src/search-space/assignment.ts';
import {
  formatConstraint,
  parseCondition,
  type WrittenCondition,
} from '../../../src/search-space/condition-text.ts';
import {
  type Conditions,
  type Constraint,
  firstBroken,
  rejects,
} from '../../../src/search-space/constraints.ts';

const NAMES = ['steps', 'topk', 'draft', 'running', 'fused', 'sizes'];

function conditions(written: Record<string, WrittenCondition>): Conditions {
  return Object.fromEntries(
    Object.entries(written).map(([name, one]) => {
      const parsed = parseCondition(one, NAMES);
      if ('problem' in parsed) throw new Error(parsed.problem);
      return [name, parsed.condition];
    }),
  );
}

function constraint(written: {
  when?: Record<string, WrittenCondition>;
  require?: Record<string, WrittenCondition>;
  forbid?: Record<string, WrittenCondition>;
}): Constraint {
  const parts = {
    when: conditions(written.when ?? {}),
    ...(written.require && { require: conditions(written.require) }),
    ...(written.forbid && { forbid: conditions(written.forbid) }),
  };
  return { text: formatConstraint(parts), ...parts };
}

test.each<{ is: Assignment[string]; must: WrittenCondition; holds: boolean }>([
  { is: 4, must: 4, holds: true },
  { is: 4, must: 5, holds: false },
  { is: 0.85, must: '0.85', holds: true },
  { is: null, must: null, holds: true },
  { is: null, must: false, holds: true },
  { is: true, must: true, holds: true },
  { is: true, must: null, holds: false },
  { is: 4, must: [1, 4], holds: true },
  { is: null, must: [1, null], holds: true },
  { is: 2, must: [1, 4], holds: false },
  { is: [1, 2], must: [[1, 2], [4]], holds: true },
  { is: [1, 2], must: [1, 2], holds: false },
  { is: 4, must: '>= 4', holds: true },
  { is: 3, must: '>= 4', holds: false },
  { is: 4, must: '> 4', holds: false },
  { is: '16', must: '<16.5', holds: true },
  { is: null, must: '>= 0', holds: false },
  { is: 'triton', must: '!= triton', holds: false },
  { is: 'fa3', must: '!= triton', holds: true },
  { is: null, must: '!= triton', holds: true },
  { is: 4, must: '!= ~', holds: true },
  { is: null, must: '!= ~', holds: false },
  { is: 96, must: '<= running', holds: true },
  { is: 97, must: '<= running', holds: false },
])('a value $is under the condition $must: $holds', ({ is, must, holds }) => {
  expect(rejects(constraint({ require: { draft: must } }), { draft: is, running: 96 })).toBe(
    !holds,
  );
});

test('a constraint says nothing where its condition does not hold', () => {
  const rule = constraint({ when: { topk: 1 }, require: { draft: null } });
  expect(rejects(rule, { topk: 2, draft: 6 })).toBe(false);
  expect(rejects(rule, { topk: 1, draft: 6 })).toBe(true);
});

test('several things forbidden are forbidden only together', () => {
  const rule = constraint({ forbid: { topk: 2, fused: true } });
  expect(rejects(rule, { topk: 2, fused: false })).toBe(false);
  expect(rejects(rule, { topk: 2, fused: true })).toBe(true);
});

test('several things required are required each', () => {
  const rule = constraint({ require: { topk: 2, fused: true } });
  expect(rejects(rule, { topk: 2, fused: false })).toBe(true);
});

test('a parameter that is missing from an assignment counts as absent', () => {
  expect(rejects(constraint({ require: { draft: null } }), {})).toBe(false);
});

test('top-k without steps is rejected by the rule that asks for both or neither', () => {
  const rules = [
    constraint({ when: { steps: null }, require: { topk: null, draft: null } }),
    constraint({ when: { topk: null }, require: { steps: null } }),
  ];
  expect(firstBroken(rules, { topk: 4, steps: null })).toBe(rules[0]);
  expect(firstBroken(rules, { topk: null, steps: 2 })).toBe(rules[1]);
  expect(firstBroken(rules, { topk: 4, steps: 2 })).toBeUndefined();
});

test('a comparison with a name that is no parameter is a problem with the nearest one', () => {
  expect(parseCondition('<= runing', NAMES)).toEqual({
    problem: '"<= runing": runing is neither a number nor a parameter of this study',
    nearest: 'running',
  });
});

test('a comparison with nothing behind it is a problem', () => {
  expect(parseCondition('>=', NAMES)).toEqual({ problem: 'nothing follows ">="' });
});

test('a constraint is shown in one line', () => {
  const rule = constraint({
    when: { topk: [1, null] },
    require: { draft: '<= running' },
    forbid: { sizes: [[1, 2]] },
  });
  expect(rule.text).toBe('when topk in (1, ~) require draft <= running forbid sizes in ([1, 2])');
});
