import {
  type Condition,
  type Constraint,
  type Lookup,
  parametersOf,
  type Verdict,
  verdictOf,
} from './constraints.ts';
import type { Parameters, SearchSpace } from './space.ts';
import { sameValue } from './values.ts';

/** Something an assignment keeps or breaks, decidable as soon as its parameters are chosen. */
export interface Rule {
  readonly names: ReadonlySet<string>;
  readonly verdict: (lookup: Lookup) => Verdict;
}

export function ruleOf(constraint: Constraint): Rule {
  return {
    names: parametersOf(constraint),
    verdict: (lookup) => verdictOf(constraint, lookup),
  };
}

/** A space with the values its constraints imply, and the rules that keep those in their place. */
export interface ImpliedSpace {
  readonly parameters: Parameters;
  /** A flag is absent against its list only where a constraint switches it off; one rule a flag. */
  readonly guards: readonly Rule[];
  /** Where a constraint applies, the flags it switches off are absent; one rule a constraint. */
  readonly switchOffs: readonly { readonly constraintIndex: number; readonly rule: Rule }[];
}

/**
 * The space that a study means. Where a constraint requires a flag to be absent whose list does
 * not hold `~` (`when: {speculative-algorithm: ~}, require: {speculative-num-steps: ~}` with steps
 * 1, 2, 3), the flag is switched off there: it gets one more value, absent, exactly where such a
 * constraint applies. Taken word by word such a constraint would reject every combination without
 * speculation.
 */
export function withImpliedValues(space: SearchSpace): ImpliedSpace {
  const names = impliedAbsent(space);
  return {
    parameters: new Map(
      [...space.parameters].map(([name, values]) => [
        name,
        names.has(name) ? [...values, null] : values,
      ]),
    ),
    guards: [...names].map((name) => absentOnlyWhere(name, space.constraints)),
    switchOffs: space.constraints.flatMap(({ text, when, require = {} }, constraintIndex) => {
      const off = Object.entries(require).filter(
        ([name, condition]) => names.has(name) && isAbsence(condition),
      );
      return off.length === 0
        ? []
        : [{ constraintIndex, rule: ruleOf({ text, when, require: Object.fromEntries(off) }) }];
    }),
  };
}

/** Parameters that a constraint switches off although their lists do not hold `~`. */
export function impliedAbsent({ parameters, constraints }: SearchSpace): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name, values] of parameters) {
    const lists = values.some((value) => sameValue(value, null));
    if (!lists && constraints.some((one) => isAbsence(one.require?.[name]))) names.add(name);
  }
  return names;
}

function isAbsence(condition: Condition | undefined): boolean {
  return condition?.kind === 'equals' && sameValue(condition.value, null);
}

function absentOnlyWhere(name: string, constraints: readonly Constraint[]): Rule {
  const sources = constraints
    .filter((one) => isAbsence(one.require?.[name]))
    // Rejects exactly where the constraint applies: nothing is asked of what it forbids.
    .map(({ text, when }): Constraint => ({ text, when, forbid: {} }));
  return {
    names: new Set([name, ...sources.flatMap((one) => [...parametersOf(one)])]),
    verdict: (lookup) => {
      const value = lookup(name);
      if (value !== undefined && value !== null) return 'holds';
      const verdicts = sources.map((one) => verdictOf(one, lookup));
      if (verdicts.includes('rejects')) return 'holds';
      return value === null && !verdicts.includes('open') ? 'rejects' : 'open';
    },
  };
}
