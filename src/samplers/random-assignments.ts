import { type Assignment, assignmentKey, type FlagValue } from '../search-space/assignment.ts';
import { type Rule, ruleOf, withImpliedValues } from '../search-space/rules.ts';
import type { SearchSpace } from '../search-space/space.ts';

/** Tries of one draw before it is given up: a walk that runs into a constraint starts anew. */
const TRIES = 50;

/** Draws and changes legal assignments of a space without listing it. */
export class LegalAssignments {
  readonly parameters: ReadonlyMap<string, readonly FlagValue[]>;
  readonly #rules: readonly Rule[];

  constructor(space: SearchSpace) {
    const { parameters, guards } = withImpliedValues(space);
    this.parameters = parameters;
    this.#rules = [...guards, ...space.constraints.map(ruleOf)];
  }

  isLegal(assignment: Assignment): boolean {
    return this.#rules.every(
      (rule) => rule.verdict((name) => assignment[name] ?? null) === 'holds',
    );
  }

  /** A random legal assignment, value by value, each value among those no constraint rejects. */
  draw(random: () => number): Assignment | undefined {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const found = this.#walk(random);
      if (found !== undefined && this.isLegal(found)) return found;
    }
    return undefined;
  }

  /** Legal assignments that differ from the given one in one parameter, or in two. */
  *neighbours(assignment: Assignment, distance: 1 | 2): Generator<Assignment, void, undefined> {
    for (const changed of this.#changes(assignment)) {
      if (this.isLegal(changed)) yield changed;
      if (distance === 1) continue;
      for (const twice of this.#changes(changed)) if (this.isLegal(twice)) yield twice;
    }
  }

  *#changes(assignment: Assignment): Generator<Assignment, void, undefined> {
    for (const [name, values] of this.parameters) {
      for (const value of values) {
        if (value !== assignment[name]) yield { ...assignment, [name]: value };
      }
    }
  }

  #walk(random: () => number): Assignment | undefined {
    const chosen = new Map<string, FlagValue>();
    const lookup = (name: string) =>
      chosen.has(name) ? chosen.get(name) : this.parameters.has(name) ? undefined : null;
    for (const [name, values] of this.parameters) {
      const open = values.filter((value) => {
        chosen.set(name, value);
        const holds = this.#rules.every(
          (rule) => !rule.names.has(name) || rule.verdict(lookup) !== 'rejects',
        );
        chosen.delete(name);
        return holds;
      });
      const value = open[Math.floor(random() * open.length)];
      if (value === undefined) return undefined;
      chosen.set(name, value);
    }
    return Object.fromEntries(
      [...this.parameters.keys()].map((name) => [name, chosen.get(name) ?? null]),
    );
  }
}

/** Seeded uniform values in [0, 1): mulberry32 by Tommy Ettinger. */
export function seededUniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Those of `assignments` that are not in `known`, each once. */
export function fresh(
  assignments: Iterable<Assignment>,
  known: ReadonlySet<string>,
): readonly Assignment[] {
  const found = new Map<string, Assignment>();
  for (const assignment of assignments) {
    const key = assignmentKey(assignment);
    if (!known.has(key)) found.set(key, assignment);
  }
  return [...found.values()];
}
