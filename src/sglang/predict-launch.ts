import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { formatValue, sameValue } from '../search-space/values.ts';
import { contextValues, type LaunchContext } from './launch-context.ts';
import { LaunchState } from './launch-state.ts';
import { flagDefaults, internalNames } from './launch-values.ts';
import { type FailsAt, isInForce, type Rule } from './rule.ts';
import { allRules } from './rules/all-rules.ts';

/** Something worth saying about flags that do launch. */
export interface LaunchNote {
  readonly kind: 'rewritten' | 'inert' | 'coupled';
  readonly ruleId: string;
  readonly flags: readonly string[];
  readonly reason: string;
}

/** What SGLang will make of a set of flags. */
export interface LaunchPrediction {
  readonly verdict: 'legal' | 'illegal';
  /** Of an illegal combination: the rule, its reason, and when the server would fail. */
  readonly ruleId?: string;
  readonly reason?: string;
  readonly failsAt?: FailsAt;
  /** Resolved values of the flags that rules know and of those asked; flags whose value depends on something unknown are left out. */
  readonly effective: Readonly<Record<string, FlagValue>>;
  /** Flags whose effective value depends on something unknown. */
  readonly unknown: readonly string[];
  readonly notes: readonly LaunchNote[];
}

interface Outcome {
  readonly state: LaunchState;
  readonly touched: ReadonlySet<string>;
  readonly notes: LaunchNote[];
  readonly inert: ReadonlySet<string>;
  readonly refusal: Rule | undefined;
}

/** SGLang upper-cases the algorithm; everything else is taken as it stands. */
function asParsed(flags: Assignment): Assignment {
  const algorithm = flags['speculative-algorithm'];
  if (typeof algorithm !== 'string') return flags;
  return { ...flags, 'speculative-algorithm': algorithm.toUpperCase() };
}

const lateness: Readonly<Record<FailsAt, number>> = { arguments: 0, loading: 1, serving: 2 };

function isEarlier(rule: Rule, than: Rule | undefined): boolean {
  if (rule.effect.kind !== 'illegal') return false;
  if (than?.effect.kind !== 'illegal') return true;
  return lateness[rule.effect.at] < lateness[than.effect.at];
}

function applyAll(flags: Assignment, context: LaunchContext): Outcome {
  const asked = asParsed(flags);
  const state = new LaunchState(asked, context);
  const touched = new Set(Object.keys(asked));
  const notes: LaunchNote[] = [];
  const inert = new Set<string>();
  let refusal: Rule | undefined;
  for (const rule of allRules) {
    if (!isInForce(rule, context.version)) continue;
    const holds = state.holds(rule);
    if (holds === false) continue;
    const { id, effect } = rule;
    if (effect.kind === 'illegal') {
      if (holds === true && isEarlier(rule, refusal)) refusal = rule;
      // What the code would have done after it stopped is of no interest.
      if (refusal === rule && effect.at === 'arguments') break;
      continue;
    }
    if (effect.kind === 'rewrite') {
      const changed = rewrite(state, rule, holds, touched);
      const wasAsked = changed.filter((name) => !sameValue(asked[name] ?? null, null));
      const told = wasAsked.length > 0 ? wasAsked : changed;
      if (holds === true && effect.silent !== true && told.length > 0)
        notes.push({ kind: 'rewritten', ruleId: id, flags: told, reason: effect.reason });
      continue;
    }
    const concerned = effect.flags.filter(
      (flag) => effect.kind === 'coupled' || !sameValue(asked[flag] ?? null, null),
    );
    if (holds !== true || concerned.length === 0) continue;
    if (effect.kind === 'inert') for (const flag of concerned) inert.add(flag);
    notes.push({ kind: effect.kind, ruleId: id, flags: concerned, reason: effect.reason });
  }
  return { state, touched, notes, inert, refusal };
}

/** Writes what the rule sets; returns the flags whose value changed. */
function rewrite(
  state: LaunchState,
  rule: Rule,
  holds: boolean | undefined,
  touched: Set<string>,
): string[] {
  if (rule.effect.kind !== 'rewrite') return [];
  const token = state.tokenOf(rule);
  const changed: string[] = [];
  for (const [name, setting] of Object.entries(rule.effect.set)) {
    const before = state.lookup(name);
    const after = state.computed(setting);
    const isSame = before !== undefined && after !== undefined && sameValue(before, after);
    if (isSame) continue;
    const why = holds === undefined ? `${token} ${state.identity(name)}` : token;
    state.write(name, holds === true ? after : undefined, why);
    touched.add(name);
    if (before !== undefined) changed.push(name);
  }
  return changed;
}

/**
 * What SGLang makes of these flags: whether it starts, and which values it runs with.
 *
 * `flags`: canonical names without dashes to values (`env.NAME` for variables). Only what holds
 * for sure makes a combination illegal: rules whose conditions depend on something unknown of the
 * context leave the values they would write unknown instead. Without a version no rule is sure.
 */
export function predictLaunch(flags: Assignment, context: LaunchContext): LaunchPrediction {
  const { state, touched, notes, refusal } = applyAll(flags, context);
  const effective: Record<string, FlagValue> = {};
  const unknown: string[] = [];
  const facts = contextValues(context);
  for (const name of [...touched].sort()) {
    if (internalNames.has(name) || name in facts) continue;
    const value = state.lookup(name);
    if (value === undefined) unknown.push(name);
    else effective[name] = value;
  }
  const verdict = refusal === undefined ? 'legal' : 'illegal';
  if (refusal?.effect.kind !== 'illegal') return { verdict, effective, unknown, notes };
  const { at, reason } = refusal.effect;
  return { verdict, ruleId: refusal.id, reason, failsAt: at, effective, unknown, notes };
}

/** A flag given its default value starts the same server as one that is left out. */
function isDefault(state: LaunchState, name: string): boolean {
  const value = state.lookup(name);
  return value !== undefined && sameValue(value, flagDefaults[name] ?? null);
}

/**
 * Identity of what a launch would run: equal for assignments that SGLang resolves to the same
 * server (field report B4), inert flags left out. Never equal on a mere guess: a value that
 * depends on something unknown counts as equal only where it follows from equal flags.
 */
export function effectiveKey(flags: Assignment, context: LaunchContext): string {
  const { state, touched, inert } = applyAll(flags, context);
  const parts = [...touched]
    .filter((name) => !internalNames.has(name) && !inert.has(name) && !isDefault(state, name))
    .map((name) => [name, state.identity(name)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(parts);
}

/** `speculative-num-draft-tokens 8 runs as 4`, one per flag whose value is not what was asked. */
export function describeRewrites(flags: Assignment, prediction: LaunchPrediction): string[] {
  return Object.entries(flags).flatMap(([name, asked]) => {
    const runs = prediction.effective[name];
    if (runs === undefined || sameValue(runs, asParsed({ [name]: asked })[name] ?? null)) return [];
    // Another name of the same algorithm is no rewrite.
    if (asked === 'NEXTN' && runs === 'EAGLE') return [];
    return [`${name} ${formatValue(asked)} runs as ${formatValue(runs)}`];
  });
}
