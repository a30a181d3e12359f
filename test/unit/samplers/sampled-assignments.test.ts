import { expect, test } from 'vitest';
import { sampledAssignments } from '../../../src/samplers/sampled-assignments.ts';
import { assignmentKey } from '../../../src/search-space/assignment.ts';
import type { SearchSpace } from '../../../src/search-space/space.ts';

const VALUES = Array.from({ length: 10 }, (_, i) => i);
const NAMES = ['p', 'q', 'r', 's', 't'];
const SPACE: SearchSpace = {
  parameters: new Map(NAMES.map((name) => [name, VALUES])),
  constraints: [
    {
      text: 'p at least q',
      when: {},
      require: { p: { kind: 'compare', operator: '>=', operand: { parameter: 'q' } } },
    },
  ],
};
const PRODUCTION = { p: 9, q: 0, r: 0, s: 0, t: 0 };
const SAMPLE = [...sampledAssignments(SPACE, PRODUCTION, 1000)];

test('a large space is sampled with as many distinct assignments as are asked for', () => {
  expect(new Set(SAMPLE.map(assignmentKey)).size).toBe(1000);
});

test('the sample of a large space keeps its constraints', () => {
  expect(SAMPLE.filter(({ p, q }) => Number(p) < Number(q))).toEqual([]);
});

test('every value is in the sample, and not only those a grid begins with', () => {
  for (const name of NAMES) {
    const seen = new Set(SAMPLE.map((one) => one[name]));
    expect([...seen].map(Number).sort((a, b) => a - b)).toEqual(VALUES);
  }
});

test('the sample begins with what differs from production in one parameter', () => {
  const apart = SAMPLE.slice(0, 45).map(
    (one) => NAMES.filter((name) => one[name] !== PRODUCTION[name as 'p']).length,
  );
  expect(apart).toEqual(apart.map(() => 1));
});

test('a sweep that goes on finds the same sample', () => {
  expect([...sampledAssignments(SPACE, PRODUCTION, 1000)]).toEqual(SAMPLE);
});

test('a space smaller than the sample is listed as far as the draws reach it', () => {
  const small = { parameters: new Map([['p', VALUES]]), constraints: [] };
  expect([...sampledAssignments(small, { p: 0 }, 100)]).toHaveLength(10);
});
