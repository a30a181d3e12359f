import type { FlagValue } from '../search-space/assignment.ts';
import {
  type Condition,
  type Conditions,
  type Constraint,
  parametersOf,
  verdictOf,
} from '../search-space/constraints.ts';
import { contextValues, type LaunchContext } from './launch-context.ts';
import { isVersionAtMost } from './renamed-flags.ts';

/** Facts of the target that a study's constraints may name beside its parameters. */
export const FACT_NAMES: readonly string[] = Object.keys(contextValues({}));

/** The fact that is compared as a version, part by part. */
export const VERSION_FACT = 'sglang.version';

export interface SettledConstraints {
  /** About parameters alone; those that the facts make void are left out. */
  readonly constraints: readonly Constraint[];
  /** Constraints about a fact that is not known: they reject nothing. */
  readonly undecided: readonly {
    readonly constraint: Constraint;
    readonly facts: readonly string[];
  }[];
}

/**
 * Replaces facts of the target (`gpu.capability`, `gpu.name`, `gpu.count`, `sglang.version`, ...)
 * in constraints by what is known of it (field report B15: capabilities are compared exactly).
 */
export function settleFacts(
  constraints: readonly Constraint[],
  context: LaunchContext,
): SettledConstraints {
  const facts = contextValues(context);
  const settled: Constraint[] = [];
  const undecided: { constraint: Constraint; facts: readonly string[] }[] = [];
  for (const constraint of constraints) {
    const named = [...parametersOf(constraint)].filter((name) => name in facts);
    const unknown = named.filter((name) => facts[name] === undefined);
    if (unknown.length > 0) undecided.push({ constraint, facts: unknown });
    else settled.push(...(named.length === 0 ? [constraint] : settle(constraint, facts)));
  }
  return { constraints: settled, undecided };
}

type Facts = Readonly<Record<string, FlagValue | undefined>>;

function settle(constraint: Constraint, facts: Facts): readonly Constraint[] {
  const when = split(constraint.when, facts);
  if (!when.hold) return [];
  const require = split(constraint.require ?? {}, facts);
  const forbid = split(constraint.forbid ?? {}, facts);
  const base = {
    text: constraint.text,
    ...(constraint.line === undefined ? {} : { line: constraint.line }),
  };
  // A fact that is required and does not hold forbids whatever `when` describes.
  if (!require.hold) return [{ ...base, when: {}, forbid: when.rest }];
  const requires = Object.keys(require.rest).length > 0;
  const forbids = constraint.forbid !== undefined && forbid.hold;
  if (!requires && !forbids) return [];
  return [
    {
      ...base,
      when: when.rest,
      ...(requires ? { require: require.rest } : {}),
      ...(forbids ? { forbid: forbid.rest } : {}),
    },
  ];
}

/** Conditions about parameters, and whether all those about facts hold. */
function split(
  conditions: Conditions,
  facts: Facts,
): { readonly rest: Conditions; readonly hold: boolean } {
  const entries = Object.entries(conditions);
  const rest = entries.filter(([name]) => !(name in facts));
  const hold = entries
    .filter(([name]) => name in facts)
    .every(([name, condition]) => factHolds(name, condition, facts[name] ?? null));
  return { rest: Object.fromEntries(rest), hold };
}

function factHolds(name: string, condition: Condition, value: FlagValue): boolean {
  const isVersion = name === VERSION_FACT && condition.kind === 'compare';
  if (isVersion && 'value' in condition.operand) {
    return versionHolds(String(value), condition.operator, String(condition.operand.value));
  }
  const probe: Constraint = { text: '', when: {}, forbid: { [name]: condition } };
  return verdictOf(probe, () => value) === 'rejects';
}

function versionHolds(version: string, operator: string, other: string): boolean {
  const atMost = isVersionAtMost(version, other) === true;
  const atLeast = isVersionAtMost(other, version) === true;
  switch (operator) {
    case '<=':
      return atMost;
    case '>=':
      return atLeast;
    case '<':
      return atMost && !atLeast;
    case '>':
      return atLeast && !atMost;
    case '==':
      return atMost && atLeast;
    default:
      return !(atMost && atLeast);
  }
}
