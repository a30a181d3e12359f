import { describe, expect, test } from 'vitest';
import { samplers } from '../../../src/samplers/registry.ts';
import type { FinishedTrial, Sampler } from '../../../src/samplers/sampler.ts';
import {
  type Assignment,
  assignmentKey,
  type FlagValue,
} from '../../../src/search-space/assignment.ts';
import { firstBroken } from '../../../src/search-space/constraints.ts';
import type { SearchSpace } from '../../../src/search-space/space.ts';

const SPACE: SearchSpace = {
  parameters: new Map<string, readonly FlagValue[]>([
    ['speculative-num-steps', [1, 2, 3]],
    ['max-running-requests', [null, 48, 96]],
  ]),
  constraints: [
    {
      text: 'three steps need a limit',
      when: { 'speculative-num-steps': { kind: 'equals', value: 3 } },
      forbid: { 'max-running-requests': { kind: 'equals', value: null } },
    },
  ],
};

/** Asks until nothing is left; what each answer was is told back as finished. */
function runAll(sampler: Sampler, finished: FinishedTrial[] = []): Assignment[] {
  const proposed: Assignment[] = [];
  for (;;) {
    const next = sampler.next(SPACE, finished);
    if (next === undefined) return proposed;
    proposed.push(next);
    finished.push({ assignment: next, state: 'completed' });
  }
}

describe.each(Object.entries(samplers))('the sampler "%s"', (_, sampler) => {
  test('proposes no assignment twice', () => {
    const keys = runAll(sampler).map(assignmentKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('proposes nothing that breaks a constraint', () => {
    const broken = runAll(sampler).filter((one) => firstBroken(SPACE.constraints, one));
    expect(broken).toEqual([]);
  });

  test('goes on from the finished trials alone after an interruption', () => {
    const whole = runAll(sampler);
    const before = whole
      .slice(0, 3)
      .map((assignment) => ({ assignment, state: 'failed' as const }));
    expect(runAll(sampler, before)).toEqual(whole.slice(3));
  });

  test('gives the same answer to the same question', () => {
    expect(sampler.next(SPACE, [])).toEqual(sampler.next(SPACE, []));
  });
});

test('the grid sampler proposes every feasible assignment', () => {
  expect(runAll(samplers.grid)).toHaveLength(8);
});
