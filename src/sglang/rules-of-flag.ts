import { isInForce, type Rule } from './rule.ts';
import { allRules } from './rules/all-rules.ts';

/** A rule as it is shown beside a flag. */
export interface RuleSummary {
  readonly id: string;
  readonly kind: 'illegal' | 'rewrite' | 'inert' | 'coupled';
  readonly reason: string;
  readonly source: string;
  /** First and last version the rule holds for. */
  readonly from: string;
  readonly through?: string;
}

function names({ when, notMultiple = ['', ''], effect }: Rule): Set<string> {
  const conditioned = when.flatMap((conditions) => Object.keys(conditions));
  const written = effect.kind === 'rewrite' ? Object.keys(effect.set) : [];
  const told = effect.kind === 'inert' || effect.kind === 'coupled' ? effect.flags : [];
  return new Set([...conditioned, ...notMultiple, ...written, ...told]);
}

/**
 * The rules that touch a flag, with a reason to show; in the order in which SGLang applies them.
 * With a version, only those that hold for it.
 */
export function rulesOfFlag(flag: string, version?: string): RuleSummary[] {
  return allRules
    .filter((rule) => rule.effect.reason !== '' && names(rule).has(flag))
    .filter((rule) => version === undefined || isInForce(rule, version))
    .map(({ id, source, from, through, effect }) => ({
      id,
      kind: effect.kind,
      reason: effect.reason,
      source,
      from,
      ...(through !== undefined && { through }),
    }));
}
