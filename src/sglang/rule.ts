import type { FlagValue } from '../search-space/assignment.ts';
import { parseCondition, type WrittenCondition } from '../search-space/condition-text.ts';
import type { Conditions } from '../search-space/constraints.ts';
import { isVersionAtMost } from './renamed-flags.ts';

/** Conditions in the language of the study file: all must hold. */
export type WrittenConditions = Readonly<Record<string, WrittenCondition>>;

/** What a rule writes: a value, or one computed from other flags. */
export type Setting =
  | FlagValue
  | { readonly copy: string; readonly plus?: number }
  | { readonly quotient: readonly [string, string] }
  | { readonly product: readonly [string, number] }
  | { readonly maximumOf: string };

/** When a combination that a rule refuses would fail on a real server. */
export type FailsAt = 'arguments' | 'loading' | 'serving';

/** What SGLang does where a rule holds. */
export type RuleEffect =
  | { readonly kind: 'illegal'; readonly at: FailsAt; readonly reason: string }
  /** Writes other values than were asked; `silent`: a default or an alias, no remark. */
  | {
      readonly kind: 'rewrite';
      readonly set: Readonly<Record<string, Setting>>;
      readonly reason: string;
      readonly silent?: boolean;
    }
  /** The flags have no effect on the server that runs. */
  | { readonly kind: 'inert'; readonly flags: readonly string[]; readonly reason: string }
  /** The flags influence each other: worth a warning, not a verdict. */
  | { readonly kind: 'coupled'; readonly flags: readonly string[]; readonly reason: string };

/**
 * One thing SGLang does with its flags. Rules apply in list order, each to what the ones before
 * it made of the flags, as SGLang's own resolution does.
 */
export interface Rule {
  readonly id: string;
  /** First SGLang version it was established for; last one, absent while it holds. */
  readonly from: string;
  readonly through?: string;
  /** File below `python/sglang/srt/` and line at 0.5.23, unless it says otherwise. */
  readonly source: string;
  /** Any one of these must hold. */
  readonly when: readonly Conditions[];
  /** Holds only where the first is no multiple of the second (both positive). */
  readonly notMultiple?: readonly [string, string];
  readonly effect: RuleEffect;
}

/** Whether a rule holds for a version. Of an unknown one nothing is sure: its rules do not hold. */
export function isInForce({ from, through }: Rule, version: string | undefined): boolean {
  if (version === undefined || isVersionAtMost(from, version) !== true) return false;
  return through === undefined || isVersionAtMost(version, through) === true;
}

export interface RuleOptions {
  readonly from?: string;
  readonly through?: string;
  readonly notMultiple?: readonly [string, string];
}

/** Names a comparison may have on its right side. */
const OPERANDS = [
  'cuda-graph-max-bs-decode',
  'max-running-requests',
  'speculative-num-draft-tokens',
  'speculative-num-steps',
  'mamba-track-interval',
  'tree-nodes',
];

function parse(written: WrittenConditions): Conditions {
  const parsed = Object.entries(written).map(([name, condition]) => {
    const result = parseCondition(condition, OPERANDS);
    if ('problem' in result) throw new Error(`rule condition on ${name}: ${result.problem}`);
    return [name, result.condition] as const;
  });
  return Object.fromEntries(parsed);
}

/** A rule from its written form. `when` is one set of conditions, or several alternatives. */
export function rule(
  id: string,
  source: string,
  when: WrittenConditions | readonly WrittenConditions[],
  effect: RuleEffect,
  { from = '0.5.20', ...options }: RuleOptions = {},
): Rule {
  const alternatives = Array.isArray(when) ? (when as readonly WrittenConditions[]) : [when];
  return {
    id,
    source,
    from,
    ...options,
    when: (alternatives as readonly WrittenConditions[]).map(parse),
    effect,
  };
}

/** SGLang's argument code stops with an exception: exit status 1 within seconds. */
export function refused(reason: string): RuleEffect {
  return { kind: 'illegal', at: 'arguments', reason };
}

export function rewritten(set: Readonly<Record<string, Setting>>, reason: string): RuleEffect {
  return { kind: 'rewrite', set, reason };
}

/** A default, an alias or a value that is only used by later rules: no remark is made. */
export function filledIn(set: Readonly<Record<string, Setting>>): RuleEffect {
  return { kind: 'rewrite', set, reason: '', silent: true };
}
