import type { WorkloadConfig } from '../config/study.ts';
import { isPromptKind } from '../config/workload-section.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { sameValue } from '../search-space/values.ts';
import type { Judge } from './plan.ts';

/** Flags whose worth is the share of prompts that begin alike. */
const CACHE_FLAGS = ['disable-radix-cache'] as const;

/**
 * Keeps the prefix cache as production has it unless the workload shares prefixes: prompts that
 * share nothing pay for the cache and never gain by it, so they vote for no cache whatever
 * production's clients share (field report B11).
 */
export function withoutCacheVotes(
  judge: Judge,
  production: Assignment,
  workload: WorkloadConfig,
): Judge {
  if (sharesPrefixes(workload)) return judge;
  return (assignment) => {
    const judgement = judge(assignment);
    const changed = CACHE_FLAGS.find(
      (name) => !sameValue(assignment[name] ?? null, production[name] ?? null),
    );
    if (changed === undefined || judgement.illegal !== undefined) return judgement;
    const reason = `the prompts of this workload share no prefix, so they cannot judge ${changed}: state workload.shared_prefix, or give prompts of your own`;
    return {
      ...judgement,
      illegal: { rule: 'cache-needs-shared-prefixes', reason, by: 'workload' },
    };
  };
}

/** Whether prompts begin alike as production's do: by a stated share, in sessions, or being its own. */
function sharesPrefixes({ sharedPrefixFraction = 0, session, prompts }: WorkloadConfig): boolean {
  return sharedPrefixFraction > 0 || session !== undefined || !isPromptKind(prompts);
}
