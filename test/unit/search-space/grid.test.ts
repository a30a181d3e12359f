import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Assignment, FlagValue } from '../../../src/search-space/assignment.ts';
import { assignmentKey } from '../../../src/search-space/assignment.ts';
import {
  type Condition,
  type Constraint,
  firstBroken,
  rejects,
} from '../../../src/search-space/constraints.ts';
import { countSpace } from '../../../src/search-space/count.ts';
import { cartesianProduct, feasibleAssignments } from '../../../src/search-space/grid.ts';
import { productionFirst, type SearchSpace } from '../../../src/search-space/space.ts';
import { sameValue } from '../../../src/search-space/values.ts';

const is = (value: FlagValue): Condition => ({ kind: 'equals', value });
const compare = (operator: '<=' | '!=', parameter: string): Condition => ({
  kind: 'compare',
  operator,
  operand: { parameter },
});

/** 5 x 4 x 3 x 2 = 120 combinations (field report D12). */
const PARAMETERS = new Map<string, readonly FlagValue[]>([
  ['steps', [null, 1, 2, 3, 4]],
  ['topk', [null, 1, 2, 4]],
  ['running', [48, 96, 128]],
  ['fused', [false, true]],
]);
const RULES: Constraint[] = [
  { text: 'steps and topk', when: { steps: is(null) }, require: { topk: is(null) } },
  { text: 'topk and steps', when: { topk: is(null) }, require: { steps: is(null) } },
  { text: 'wide and fused', when: {}, forbid: { topk: is(4), fused: is(true) } },
];

test('a 5 x 4 x 3 x 2 grid with three rules is counted by the rule that rejects, and adds up', () => {
  // Without steps 3 of 4 top-k values fall: 3 x 3 x 2 = 18. Without top-k 4 step values fall:
  // 4 x 3 x 2 = 24. Left with top-k 4 and fused: 4 steps x 3 = 12. 120 - 18 - 24 - 12 = 66.
  const count = countSpace({ parameters: PARAMETERS, constraints: RULES });
  expect(count).toEqual({
    total: 120,
    implied: 0,
    feasible: 66,
    rejected: RULES.map((constraint, i) => ({ constraint, count: [18, 24, 12][i] })),
  });
});

test('the grid lists exactly as many assignments as were counted', () => {
  const listed = [...feasibleAssignments({ parameters: PARAMETERS, constraints: RULES })];
  expect(new Set(listed.map(assignmentKey)).size).toBe(66);
});

test('the grid turns the last parameter fastest, each in its written order', () => {
  const parameters = new Map<string, readonly FlagValue[]>([
    ['b', [2, 1]],
    ['a', [null, 5]],
  ]);
  expect([...feasibleAssignments({ parameters, constraints: [] })]).toEqual([
    { b: 2, a: null },
    { b: 2, a: 5 },
    { b: 1, a: null },
    { b: 1, a: 5 },
  ]);
});

test('no parameters make one empty assignment', () => {
  const space: SearchSpace = { parameters: new Map(), constraints: [] };
  expect([...feasibleAssignments(space)]).toEqual([{}]);
  expect(countSpace(space)).toMatchObject({ total: 1, feasible: 1 });
});

test("production's own values come first", () => {
  const space = productionFirst(
    { parameters: PARAMETERS, constraints: RULES },
    { steps: '1', topk: 1, running: 64 },
  );
  const [first] = feasibleAssignments(space);
  expect(first).toEqual({ steps: 1, topk: 1, running: 48, fused: false });
});

/** Ten parameters of four values each: 4^10 = 1,048,576 combinations. */
const MILLION = new Map<string, readonly FlagValue[]>(
  Array.from({ length: 10 }, (_, i) => [`p${String(i)}`, [1, 2, 3, 4]]),
);

test('a space of a million combinations chained by comparisons is counted exactly', () => {
  // p0 <= p1 <= ... <= p9 over four values: multisets of size 10, C(13, 3) = 286.
  const constraints = Array.from(
    { length: 9 },
    (_, i): Constraint => ({
      text: `chain ${String(i)}`,
      when: {},
      require: { [`p${String(i)}`]: compare('<=', `p${String(i + 1)}`) },
    }),
  );
  const count = countSpace({ parameters: MILLION, constraints });
  expect(count.total).toBe(4 ** 10);
  expect(count.feasible).toBe(286);
  // The first comparison alone keeps 10 of 16 pairs.
  expect(count.rejected[0]?.count).toBe((4 ** 10 * 6) / 16);
  expect(count.feasible + count.rejected.reduce((sum, one) => sum + one.count, 0)).toBe(4 ** 10);
});

test('walking a space of a million combinations leaves rejected branches early', () => {
  const constraints = Array.from(
    { length: 9 },
    (_, i): Constraint => ({
      text: `chain ${String(i)}`,
      when: {},
      require: { [`p${String(i)}`]: compare('<=', `p${String(i + 1)}`) },
    }),
  );
  expect([...feasibleAssignments({ parameters: MILLION, constraints })]).toHaveLength(286);
});

test('the first assignments of a space of 10^30 combinations come without listing it', () => {
  const parameters = new Map<string, readonly FlagValue[]>(
    Array.from({ length: 30 }, (_, i) => [`p${String(i)}`, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]),
  );
  const first = feasibleAssignments({ parameters, constraints: [] }).next();
  expect(first.value).toMatchObject({ p0: 0, p29: 0 });
});

const scalar = fc.constantFrom<FlagValue>(null, false, true, 1, 2, 3, 'a');
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const condition: fc.Arbitrary<Condition> = fc.oneof(
  scalar.map(is),
  fc
    .array(scalar, { minLength: 1, maxLength: 3 })
    .map((values) => ({ kind: 'anyOf' as const, values })),
  fc.record({
    kind: fc.constant('compare' as const),
    operator: fc.constantFrom(
      '<' as const,
      '<=' as const,
      '>' as const,
      '>=' as const,
      '!=' as const,
      '==' as const,
    ),
    operand: fc.oneof(
      scalar.map((value) => ({ value })),
      name.map((parameter) => ({ parameter })),
    ),
  }),
);
const conditionsOf = fc.dictionary(name, condition, { maxKeys: 3 });
const rule: fc.Arbitrary<Constraint> = fc.record(
  {
    text: fc.constant('rule'),
    when: conditionsOf,
    require: conditionsOf,
    forbid: fc.dictionary(name, condition, { minKeys: 1, maxKeys: 3 }),
  },
  { requiredKeys: ['text', 'when'] },
);
const space: fc.Arbitrary<SearchSpace> = fc.record({
  // "e" is left out now and then: a constraint then speaks of a parameter that is absent.
  parameters: fc
    .tuple(
      ...['a', 'b', 'c', 'd', 'e'].map((one) =>
        fc.tuple(
          fc.constant(one),
          fc.uniqueArray(scalar, { minLength: one === 'e' ? 0 : 1, maxLength: 4 }),
        ),
      ),
    )
    .map((entries) => new Map(entries.filter(([, values]) => values.length > 0))),
  constraints: fc.array(rule, { maxLength: 5 }),
});

/** The definition, without any cleverness: every combination, the switched-off ones included. */
function bruteForce({ parameters, constraints }: SearchSpace) {
  const lists = (name: string) => parameters.get(name)?.some((value) => sameValue(value, null));
  const switchesOff = (name: string, by: Constraint) => {
    const required = by.require?.[name];
    return !lists(name) && required?.kind === 'equals' && sameValue(required.value, null);
  };
  const applies = ({ text, when }: Constraint, to: Assignment) =>
    rejects({ text, when, forbid: {} }, to);
  const names = [...parameters.keys()];
  const listed = assignments(parameters);
  const merged = listed.map((assignment) =>
    constraints.find(
      (one) => applies(one, assignment) && names.some((name) => switchesOff(name, one)),
    ),
  );
  const extended = new Map(
    [...parameters].map(([name, values]) => [
      name,
      constraints.some((one) => switchesOff(name, one)) ? [...values, null] : values,
    ]),
  );
  const meant = assignments(extended).filter((assignment) =>
    names.every((name) => {
      const off = constraints.some((one) => switchesOff(name, one) && applies(one, assignment));
      return lists(name) || (assignment[name] === null) === off;
    }),
  );
  const broken = meant.map((assignment) => firstBroken(constraints, assignment));
  const implied = meant.length - merged.filter((one) => one === undefined).length;
  return {
    total: listed.length + implied,
    implied,
    feasible: meant.filter((_, i) => broken[i] === undefined),
    rejected: constraints.map((constraint) => ({
      constraint,
      count: [...broken, ...merged].filter((one) => one === constraint).length,
    })),
  };
}

function assignments(parameters: SearchSpace['parameters']): Assignment[] {
  return cartesianProduct([...parameters]).map((entries) => Object.fromEntries(entries));
}

test('counting agrees with trying every combination, in total and by constraint', () => {
  fc.assert(
    fc.property(space, (one) => {
      const expected = bruteForce(one);
      const taken = expected.rejected.reduce((sum, { count }) => sum + count, 0);
      expect(expected.feasible.length + taken).toBe(expected.total);
      expect(countSpace(one)).toEqual({ ...expected, feasible: expected.feasible.length });
    }),
    { numRuns: 300 },
  );
});

test('the lazy grid agrees with filtering every combination, order included', () => {
  fc.assert(
    fc.property(space, (one) => {
      expect([...feasibleAssignments(one)]).toEqual(bruteForce(one).feasible);
    }),
    { numRuns: 300 },
  );
});

test('a flag that a constraint requires to be absent is switched off there, once', () => {
  // Written as in the README: steps does not list ~, yet "no speculation" is one of the choices.
  const space: SearchSpace = {
    parameters: new Map<string, readonly FlagValue[]>([
      ['algorithm', ['NEXTN', null]],
      ['steps', [1, 2, 3]],
      ['fused', [false, true]],
    ]),
    constraints: [{ text: 'off', when: { algorithm: is(null) }, require: { steps: is(null) } }],
  };
  const listed = [...feasibleAssignments(space)];
  expect(listed.filter(({ algorithm }) => algorithm === null)).toEqual([
    { algorithm: null, steps: null, fused: false },
    { algorithm: null, steps: null, fused: true },
  ]);
  expect(listed.filter(({ algorithm }) => algorithm === 'NEXTN')).toHaveLength(6);
  // 2 x 3 x 2 = 12 listed, 6 of them rejected, and 2 switched off.
  expect(countSpace(space)).toMatchObject({
    total: 14,
    implied: 2,
    feasible: 8,
    rejected: [{ count: 6 }],
  });
});
