import _ from 'lodash';
import type { FlagValue } from './assignment.ts';
import { type Constraint, parametersOf, verdictOf } from './constraints.ts';
import type { Parameters, SearchSpace } from './space.ts';

/** How large a space is and what its constraints take away: `total = feasible + all rejected`. */
export interface SpaceCount {
  readonly total: number;
  readonly feasible: number;
  /** In the order of the constraints; each combination is counted at the first it breaks. */
  readonly rejected: readonly { readonly constraint: Constraint; readonly count: number }[];
}

interface LiveConstraint {
  readonly index: number;
  readonly constraint: Constraint;
  readonly names: ReadonlySet<string>;
}

/**
 * Counts a space exactly without listing it.
 *
 * Constraints connect only some parameters: those that none connects multiply, and connected ones
 * are gone through value by value until the constraints left are decided or fall apart into
 * independent groups. Memory grows with the number of parameters, time with the largest group
 * that stays connected (a million connected combinations: seconds).
 *
 * Counts are exact up to 2^53.
 */
export function countSpace({ parameters, constraints }: SearchSpace): SpaceCount {
  const live = constraints.map((constraint, index) => ({
    index,
    constraint,
    names: parametersOf(constraint),
  }));
  const count = countPrefixes(parameters, live, constraints.length);
  const kept = (prefix: number) => count[prefix] ?? 0;
  return {
    total: kept(0),
    feasible: kept(constraints.length),
    rejected: constraints.map((constraint, i) => ({ constraint, count: kept(i) - kept(i + 1) })),
  };
}

/**
 * Element k: combinations that keep the first k constraints, so that the difference of two
 * neighbours is what one constraint takes away. Length `constraintCount + 1`, descending.
 */
function countPrefixes(
  parameters: Parameters,
  constraints: readonly LiveConstraint[],
  constraintCount: number,
): readonly number[] {
  const chosen = new Map<string, FlagValue>();
  /** Parameters outside the space are absent; those in it are unknown until chosen. */
  const lookup = (name: string) => (isOpen(name) ? undefined : (chosen.get(name) ?? null));
  const isOpen = (name: string) => parameters.has(name) && !chosen.has(name);
  const sizeOf = (name: string) => parameters.get(name)?.length ?? 1;

  const count = (open: readonly string[], candidates: readonly LiveConstraint[]): number[] => {
    const { live, firstBroken } = judge(candidates, lookup);
    const groups = connectedGroups(open, live);
    const counts = groups.map((group) => countGroup(group.names, group.constraints));
    return _.times(constraintCount + 1, (k) =>
      k > firstBroken ? 0 : counts.reduce((product, one) => product * (one[k] ?? 0), 1),
    );
  };

  const countGroup = (names: readonly string[], live: readonly LiveConstraint[]): number[] => {
    if (live.length === 0) {
      const size = names.reduce((product, name) => product * sizeOf(name), 1);
      return _.times(constraintCount + 1, () => size);
    }
    // The parameter most constraints speak of: choosing it decides or separates most.
    const pivot = _.maxBy(names, (name) => live.filter((one) => one.names.has(name)).length);
    if (pivot === undefined) throw new Error('an undecided constraint without open parameters');
    const rest = _.without(names, pivot);
    const sums = _.times(constraintCount + 1, () => 0);
    for (const value of parameters.get(pivot) ?? []) {
      chosen.set(pivot, value);
      count(rest, live).forEach((one, k) => {
        sums[k] = (sums[k] ?? 0) + one;
      });
    }
    chosen.delete(pivot);
    return sums;
  };

  return count([...parameters.keys()], constraints);
}

/** Constraints still undecided, and the index of the first broken one (Infinity: none). */
function judge(
  constraints: readonly LiveConstraint[],
  lookup: (name: string) => FlagValue | undefined,
): { live: LiveConstraint[]; firstBroken: number } {
  const live: LiveConstraint[] = [];
  for (const one of constraints) {
    const verdict = verdictOf(one.constraint, lookup);
    // Whatever later constraints say, a combination is counted at the first it breaks.
    if (verdict === 'rejects') return { live, firstBroken: one.index };
    if (verdict === 'open') live.push(one);
  }
  return { live, firstBroken: Number.POSITIVE_INFINITY };
}

interface Group {
  readonly names: readonly string[];
  readonly constraints: readonly LiveConstraint[];
}

/** Splits open parameters so that no constraint spans two groups; the unconstrained form one. */
function connectedGroups(open: readonly string[], live: readonly LiveConstraint[]): Group[] {
  let groups: Group[] = [];
  for (const one of live) {
    const own = open.filter((name) => one.names.has(name));
    const [touched, apart] = _.partition(groups, (group) =>
      group.names.some((name) => one.names.has(name)),
    );
    groups = [
      ...apart,
      {
        names: _.union(own, ...touched.map((group) => group.names)),
        // In list order: `judge` relies on it to find the first broken one.
        constraints: _.sortBy([...touched.flatMap((group) => group.constraints), one], 'index'),
      },
    ];
  }
  const free = _.difference(
    open,
    groups.flatMap((group) => group.names),
  );
  return free.length === 0 ? groups : [...groups, { names: free, constraints: [] }];
}
