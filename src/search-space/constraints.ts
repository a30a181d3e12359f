import type { Assignment, FlagValue } from './assignment.ts';
import { numericValue, sameValue } from './values.ts';

export type ComparisonOperator = '<' | '<=' | '>' | '>=' | '!=' | '==';

/**
 * Condition on one parameter: a value, any of several values (`anyOf`), or a comparison with a
 * value or with another parameter of the same assignment. An absent flag is neither smaller nor
 * larger than anything.
 */
export type Condition =
  | { readonly kind: 'equals'; readonly value: FlagValue }
  | { readonly kind: 'anyOf'; readonly values: readonly FlagValue[] }
  | {
      readonly kind: 'compare';
      readonly operator: ComparisonOperator;
      readonly operand: { readonly value: FlagValue } | { readonly parameter: string };
    };

export type Conditions = Readonly<Record<string, Condition>>;

/** Where `when` holds (all of its conditions), `require` must hold, and `forbid` must not. */
export interface Constraint {
  /** As shown to the user, e.g. `when speculative-eagle-topk = 1 require ...`. */
  readonly text: string;
  /** 1-based line in the study file. */
  readonly line?: number;
  /** Empty: the constraint holds everywhere. */
  readonly when: Conditions;
  readonly require?: Conditions;
  /** Broken when all of these hold. */
  readonly forbid?: Conditions;
}

/** Verdict on an assignment of which not everything is chosen yet; `open`: it depends on the rest. */
export type Verdict = 'holds' | 'rejects' | 'open';

/**
 * Looks a value up while a grid is being built: undefined where it is not chosen yet, `null` for
 * a parameter that is absent.
 */
export type Lookup = (parameter: string) => FlagValue | undefined;

/** Whether an assignment breaks the constraint. A parameter that is missing counts as absent. */
export function rejects(constraint: Constraint, assignment: Assignment): boolean {
  return verdictOf(constraint, (name) => assignment[name] ?? null) === 'rejects';
}

/** The first constraint in list order that an assignment breaks, or undefined. */
export function firstBroken(
  constraints: readonly Constraint[],
  assignment: Assignment,
): Constraint | undefined {
  return constraints.find((constraint) => rejects(constraint, assignment));
}

/** What can be said of a constraint when only part of the assignment is chosen. */
export function verdictOf({ when, require, forbid }: Constraint, lookup: Lookup): Verdict {
  const applies = all(when, lookup);
  if (applies === false) return 'holds';
  const required = require === undefined ? true : all(require, lookup);
  const forbidden = forbid === undefined ? false : all(forbid, lookup);
  if (required === true && forbidden === false) return 'holds';
  if (applies === true && (required === false || forbidden === true)) return 'rejects';
  return 'open';
}

/** The parameters a constraint speaks of, those it compares with included; each once. */
export function parametersOf({ when, require, forbid }: Constraint): ReadonlySet<string> {
  const names = new Set<string>();
  for (const conditions of [when, require ?? {}, forbid ?? {}]) {
    for (const [name, condition] of Object.entries(conditions)) {
      names.add(name);
      if (condition.kind === 'compare' && 'parameter' in condition.operand) {
        names.add(condition.operand.parameter);
      }
    }
  }
  return names;
}

/** Three-valued "and": undefined when it depends on values that are not chosen yet. */
function all(conditions: Conditions, lookup: Lookup): boolean | undefined {
  let known = true;
  for (const [name, condition] of Object.entries(conditions)) {
    const held = holds(condition, lookup(name), lookup);
    if (held === false) return false;
    if (held === undefined) known = false;
  }
  return known ? true : undefined;
}

function holds(
  condition: Condition,
  value: FlagValue | undefined,
  lookup: Lookup,
): boolean | undefined {
  if (value === undefined) return undefined;
  if (condition.kind === 'equals') return sameValue(value, condition.value);
  if (condition.kind === 'anyOf') return condition.values.some((one) => sameValue(value, one));
  const { operand, operator } = condition;
  const other = 'parameter' in operand ? lookup(operand.parameter) : operand.value;
  return other === undefined ? undefined : compare(value, operator, other);
}

function compare(left: FlagValue, operator: ComparisonOperator, right: FlagValue): boolean {
  const a = numericValue(left);
  const b = numericValue(right);
  const comparable = a !== undefined && b !== undefined;
  switch (operator) {
    case '==':
      return comparable ? a === b : sameValue(left, right);
    case '!=':
      return comparable ? a !== b : !sameValue(left, right);
    case '<':
      return comparable && a < b;
    case '<=':
      return comparable && a <= b;
    case '>':
      return comparable && a > b;
    case '>=':
      return comparable && a >= b;
  }
}
