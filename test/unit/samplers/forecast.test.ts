import { describe, expect, test } from 'vitest';
import { forecastOf } from '../../../src/samplers/forecast.ts';
import { samplers } from '../../../src/samplers/registry.ts';
import type { FinishedTrial } from '../../../src/samplers/sampler.ts';
import type { Assignment, FlagValue } from '../../../src/search-space/assignment.ts';
import { feasibleAssignments } from '../../../src/search-space/grid.ts';

const PARAMETERS = new Map<string, readonly FlagValue[]>([
  ['a', ['x', 'y', 'z']],
  ['b', [false, true]],
  ['c', [1, 2, 4, 8]],
  ['d', ['p', 'q']],
]);
const SPACE = { parameters: PARAMETERS, constraints: [] };

/** Effects that add up on the log scale. */
function truth({ a, b, c, d }: Assignment): number {
  return (
    (a === 'y' ? 0.05 : 0) + (b === true ? 0.03 : 0) + 0.01 * Number(c) + (d === 'q' ? -0.04 : 0)
  );
}

function launched(assignment: Assignment, at: number, over = 0): FinishedTrial {
  return { assignment, state: 'completed', launches: [{ at, logScore: truth(assignment) + over }] };
}

const GRID = [...feasibleAssignments(SPACE)];
const THIRD = GRID.filter((_one, i) => i % 3 === 0).map((one, at) => launched(one, at));

describe('the forecast', () => {
  test('foretells effects that add up from a third of the grid', () => {
    const forecast = forecastOf(PARAMETERS, THIRD);
    const misses = GRID.map((one) => Math.abs(forecast.predict(one).mean - truth(one)));
    expect(Math.max(...misses)).toBeLessThan(0.02);
  });

  test('does not take a jump of the machine for an effect', () => {
    // An order in which no value goes along with time.
    const mixed = GRID.map((_one, i) => GRID[(i * 7) % GRID.length] ?? {}).slice(0, 30);
    const jumped = mixed.map((one, at): FinishedTrial => {
      const era = at < 15 ? 0 : 1;
      return {
        assignment: one,
        state: 'completed',
        launches: [{ at, era, logScore: truth(one) - 0.3 * era }],
      };
    });
    const forecast = forecastOf(PARAMETERS, jumped);
    const [early = {}, late = {}] = [mixed[0], mixed[29]];
    const expected = truth(late) - truth(early);
    expect(forecast.predict(late).mean - forecast.predict(early).mean).toBeGreaterThan(
      expected - 0.05,
    );
  });

  test('a value that only failed is promised less than one that ran', () => {
    const failed = GRID.filter(({ a }) => a === 'z').slice(0, 3);
    const finished = [
      ...THIRD.filter(({ assignment }) => assignment['a'] !== 'z'),
      ...failed.map((assignment): FinishedTrial => ({ assignment, state: 'infeasible' })),
    ];
    const { feasibility } = forecastOf(PARAMETERS, finished);
    expect(feasibility({ a: 'z', b: true, c: 8, d: 'q' })).toBeLessThan(0.5);
    expect(feasibility({ a: 'y', b: true, c: 8, d: 'q' })).toBeGreaterThan(0.9);
  });

  test('of two equal gains the one that takes half the time is promised more', () => {
    const finished = THIRD.map((one) => ({
      ...one,
      seconds: one.assignment['d'] === 'p' ? 600 : 100,
    }));
    const { promise, predict } = forecastOf(PARAMETERS, finished);
    const [slow, fast] = [
      { a: 'x', b: false, c: 1, d: 'p' },
      { a: 'x', b: false, c: 1, d: 'q' },
    ];
    const even = forecastOf(PARAMETERS, THIRD);
    expect(predict(slow)).toEqual(even.predict(slow));
    expect(promise(fast) / promise(slow)).toBeGreaterThan(even.promise(fast) / even.promise(slow));
  });
});

describe('the budgeted sampler', () => {
  test('finds the best of 48 within 14 launches', () => {
    const finished: FinishedTrial[] = [launched(GRID[0] ?? {}, 0)];
    for (let at = 1; at <= 14; at += 1) {
      const next = samplers.budgeted.next(SPACE, finished);
      if (next !== undefined) finished.push(launched(next, at));
    }
    const best = Math.max(...GRID.map(truth));
    expect(Math.max(...finished.map(({ assignment }) => truth(assignment)))).toBeCloseTo(best, 10);
  });

  test('proposes legal, new assignments in a space of a million', () => {
    const values = Array.from({ length: 10 }, (_, i) => i);
    const large = {
      parameters: new Map(['p', 'q', 'r', 's', 't', 'u'].map((name) => [name, values])),
      constraints: [
        {
          text: 'p above q',
          when: {},
          require: { p: { kind: 'compare', operator: '>', operand: { parameter: 'q' } } as const },
        },
      ],
    };
    const finished: FinishedTrial[] = [];
    for (let at = 0; at < 8; at += 1) {
      const next = samplers.budgeted.next(large, finished);
      if (next === undefined) throw new Error('nothing proposed');
      expect(Number(next['p'])).toBeGreaterThan(Number(next['q']));
      finished.push({
        assignment: next,
        state: 'completed',
        launches: [{ at, logScore: 0.01 * Number(next['r']) }],
      });
    }
    expect(new Set(finished.map(({ assignment }) => JSON.stringify(assignment))).size).toBe(8);
  });
});
