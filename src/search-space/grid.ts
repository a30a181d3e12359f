import _ from 'lodash';
import type { Assignment, FlagValue } from './assignment.ts';
import type { Lookup } from './constraints.ts';
import { type Rule, ruleOf, withImpliedValues } from './rules.ts';
import type { Parameters, SearchSpace } from './space.ts';

/** Combinations listed at once: a few hundred kB, whatever the size of the space. */
const BLOCK = 1024;

type Entry = readonly [string, FlagValue];

/**
 * All combinations of values, the last parameter turning fastest; one empty combination when there
 * are no parameters. Lists them all: for grids that fit into memory.
 */
export function cartesianProduct(parameters: readonly (readonly [string, readonly FlagValue[]])[]) {
  return _.reduce<(typeof parameters)[number], Entry[][]>(
    parameters,
    (combinations, [name, values]) =>
      _.flatMap(combinations, (entries) =>
        _.map(values, (value): Entry[] => [...entries, [name, value]]),
      ),
    [[]],
  );
}

/**
 * Every assignment that keeps all constraints (flags that a constraint switches off included, see
 * `withImpliedValues`), in the order of a nested loop over the parameters
 * as the study lists them (the last turns fastest), each value in its written order.
 *
 * Lazy: leading parameters are walked one value at a time and a branch is left as soon as a
 * constraint rejects it; only the trailing parameters, as many as fit into a block, are listed.
 */
export function* feasibleAssignments(space: SearchSpace): Generator<Assignment, void, undefined> {
  const { parameters, guards } = withImpliedValues(space);
  const rules = [...guards, ...space.constraints.map(ruleOf)];
  const { leading, trailing } = splitForBlock(parameters);
  const block = cartesianProduct(trailing);
  for (const start of walk(leading, rules, parameters)) {
    for (const end of block) {
      const assignment = Object.fromEntries([...start, ...end]);
      const lookup: Lookup = (name) => assignment[name] ?? null;
      if (rules.every((rule) => rule.verdict(lookup) === 'holds')) yield assignment;
    }
  }
}

function splitForBlock(parameters: Parameters) {
  const leading = [...parameters];
  const trailing: typeof leading = [];
  let size = 1;
  for (let last = leading.at(-1); last !== undefined; last = leading.at(-1)) {
    size *= last[1].length;
    if (size > BLOCK) break;
    trailing.unshift(last);
    leading.pop();
  }
  return { leading, trailing };
}

/** Combinations of the leading parameters that no constraint rejects yet. */
function* walk(
  leading: readonly (readonly [string, readonly FlagValue[]])[],
  rules: readonly Rule[],
  parameters: Parameters,
  chosen: ReadonlyMap<string, FlagValue> = new Map(),
): Generator<ReadonlyMap<string, FlagValue>, void, undefined> {
  const lookup: Lookup = (name) =>
    chosen.has(name) || parameters.has(name) ? chosen.get(name) : null;
  if (rules.some((rule) => rule.verdict(lookup) === 'rejects')) return;
  const [first, ...rest] = leading;
  if (first === undefined) {
    yield chosen;
    return;
  }
  const [name, values] = first;
  for (const value of values) {
    yield* walk(rest, rules, parameters, new Map([...chosen, [name, value]]));
  }
}
