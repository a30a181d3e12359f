import _ from 'lodash';
import type { FlagValue } from './assignment.ts';
import type { Constraint } from './constraints.ts';
import { type Rule, ruleOf, withImpliedValues } from './rules.ts';
import type { Parameters, SearchSpace } from './space.ts';

/** How large a space is and what its constraints take away: `total = feasible + all rejected`. */
export interface SpaceCount {
  /** Combinations of listed values, and `implied`. */
  readonly total: number;
  /** Combinations that exist only because a constraint switches a flag off that lists no `~`. */
  readonly implied: number;
  readonly feasible: number;
  /**
   * In the order of the constraints. Each combination is counted at the first constraint it
   * breaks, or before that at the one that switches a flag of it off.
   */
  readonly rejected: readonly { readonly constraint: Constraint; readonly count: number }[];
}

interface LiveRule extends Rule {
  readonly index: number;
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
export function countSpace(space: SearchSpace): SpaceCount {
  const { parameters, guards, switchOffs } = withImpliedValues(space);
  const offRules = switchOffs.map(({ rule }) => rule);
  const listed = takenAway(space.parameters, offRules);
  const meant = takenAway(parameters, [...guards, ...offRules, ...space.constraints.map(ruleOf)]);
  const meantCount = meant.kept[guards.length + offRules.length] ?? 0;
  const implied = meantCount - (listed.kept[offRules.length] ?? 0);
  return {
    total: (listed.kept[0] ?? 0) + implied,
    implied,
    feasible: meant.kept.at(-1) ?? 0,
    rejected: space.constraints.map((constraint, index) => {
      const off = switchOffs.findIndex(({ constraintIndex }) => constraintIndex === index);
      const broken = meant.taken[guards.length + offRules.length + index] ?? 0;
      return { constraint, count: broken + (listed.taken[off] ?? 0) };
    }),
  };
}

/** `kept[k]`: combinations that keep the first k rules; `taken[k]`: those lost to rule k. */
function takenAway(parameters: Parameters, rules: readonly Rule[]) {
  const kept = countPrefixes(parameters, rules);
  return { kept, taken: rules.map((_rule, k) => (kept[k] ?? 0) - (kept[k + 1] ?? 0)) };
}

/**
 * Element k: combinations that keep the first k rules, so that the difference of two
 * neighbours is what one rule takes away. Length `rules.length + 1`, descending.
 */
function countPrefixes(parameters: Parameters, rules: readonly Rule[]): readonly number[] {
  const chosen = new Map<string, FlagValue>();
  /** Parameters outside the space are absent; those in it are unknown until chosen. */
  const lookup = (name: string) => (isOpen(name) ? undefined : (chosen.get(name) ?? null));
  const isOpen = (name: string) => parameters.has(name) && !chosen.has(name);
  const sizeOf = (name: string) => parameters.get(name)?.length ?? 1;

  const count = (open: readonly string[], candidates: readonly LiveRule[]): number[] => {
    const { live, firstBroken } = judge(candidates, lookup);
    const groups = connectedGroups(open, live);
    const counts = groups.map((group) => countGroup(group.names, group.rules));
    return _.times(rules.length + 1, (k) =>
      k > firstBroken ? 0 : counts.reduce((product, one) => product * (one[k] ?? 0), 1),
    );
  };

  const countGroup = (names: readonly string[], live: readonly LiveRule[]): number[] => {
    if (live.length === 0) {
      const size = names.reduce((product, name) => product * sizeOf(name), 1);
      return _.times(rules.length + 1, () => size);
    }
    // The parameter most rules speak of: choosing it decides or separates most.
    const pivot = _.maxBy(names, (name) => live.filter((one) => one.names.has(name)).length);
    if (pivot === undefined) throw new Error('an undecided rule without open parameters');
    const rest = _.without(names, pivot);
    const sums = _.times(rules.length + 1, () => 0);
    for (const value of parameters.get(pivot) ?? []) {
      chosen.set(pivot, value);
      count(rest, live).forEach((one, k) => {
        sums[k] = (sums[k] ?? 0) + one;
      });
    }
    chosen.delete(pivot);
    return sums;
  };

  return count(
    [...parameters.keys()],
    rules.map(({ names, verdict }, index) => ({ names, verdict, index })),
  );
}

/** Rules still undecided, and the index of the first broken one (Infinity: none). */
function judge(
  rules: readonly LiveRule[],
  lookup: (name: string) => FlagValue | undefined,
): { live: LiveRule[]; firstBroken: number } {
  const live: LiveRule[] = [];
  for (const one of rules) {
    const verdict = one.verdict(lookup);
    // Whatever later rules say, a combination is counted at the first it breaks.
    if (verdict === 'rejects') return { live, firstBroken: one.index };
    if (verdict === 'open') live.push(one);
  }
  return { live, firstBroken: Number.POSITIVE_INFINITY };
}

interface Group {
  readonly names: readonly string[];
  readonly rules: readonly LiveRule[];
}

/** Splits open parameters so that no rule spans two groups; the unconstrained form one. */
function connectedGroups(open: readonly string[], live: readonly LiveRule[]): Group[] {
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
        rules: _.sortBy([...touched.flatMap((group) => group.rules), one], 'index'),
      },
    ];
  }
  const free = _.difference(
    open,
    groups.flatMap((group) => group.names),
  );
  return free.length === 0 ? groups : [...groups, { names: free, rules: [] }];
}
