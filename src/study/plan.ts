import type { Study } from '../config/study.ts';
import { sampledAssignments } from '../samplers/sampled-assignments.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { countSpace, type SpaceCount } from '../search-space/count.ts';
import { feasibleAssignments } from '../search-space/grid.ts';
import { productionFirst, type SearchSpace } from '../search-space/space.ts';
import { settleFacts } from '../sglang/constraint-facts.ts';
import type { LaunchContext } from '../sglang/launch-context.ts';
import { PlanListing } from './plan-listing.ts';

/**
 * Assignments listed at most. Thousands of launches are months: of a larger space a sample is
 * listed, from which the search launches what promises most.
 */
const MAX_LISTED = 4096;

/** What is known of an assignment before any launch. */
export interface Judgement {
  /** Assignments with the same key are the same server. */
  readonly effectiveKey: string;
  /** Why SGLang would refuse it; absent when nothing is known against it. */
  readonly illegal?: Objection;
  /** What the server makes of it: rewritten values, flags without effect, couplings. */
  readonly notes: readonly string[];
  /** Values that the server is predicted to run with, where they are known. */
  readonly predicted: Assignment;
}

/** Why an assignment is not launched; `by` as in `SkippedGroup`, SGLang unless it says otherwise. */
export interface Objection {
  readonly rule: string;
  readonly reason: string;
  readonly by?: 'sglang' | 'workload';
}

export type Judge = (assignment: Assignment) => Judgement;

export interface PlannedTrial {
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  readonly notes: readonly string[];
}

/** Assignments that are not launched for one and the same reason. */
export interface SkippedGroup {
  readonly rule: string;
  readonly reason: string;
  /**
   * `constraint`: of the study file, counted only. `sglang`: the server would refuse it.
   * `workload`: these prompts cannot judge it.
   */
  readonly by: 'constraint' | 'sglang' | 'workload';
  readonly count: number;
  /** Those that are listed; empty for constraints. */
  readonly assignments: readonly Assignment[];
}

/** An assignment that is the same server as one that is launched. */
export interface EquivalentAssignment {
  readonly assignment: Assignment;
  /** Index into `trials`. */
  readonly sameAs: number;
}

/** What a sweep will do; made without touching the target. */
export interface SweepPlan {
  /** In the order of launching; the first is the baseline. */
  readonly trials: readonly PlannedTrial[];
  readonly skipped: readonly SkippedGroup[];
  readonly equivalent: readonly EquivalentAssignment[];
  readonly space: SpaceCount;
  readonly warnings: readonly string[];
  /**
   * Assignments that keep the constraints but are not among the listed ones, which are then a
   * sample of the space (samplers/sampled-assignments.ts).
   */
  readonly unlisted: number;
}

/**
 * Lists what is launched: the baseline, then every assignment that keeps the constraints, that
 * SGLang would start, and that is not the same server as an earlier one.
 *
 * @param production what production has for the study's parameters.
 */
export function planSweep(
  study: Study,
  production: Assignment,
  judge: Judge,
  context: LaunchContext = {},
): SweepPlan {
  const { constraints, undecided } = settleFacts(study.constraints, context);
  const space: SearchSpace = productionFirst(
    { parameters: study.parameters, constraints },
    production,
  );
  const count = countSpace(space);
  const listing = new PlanListing(production, judge);
  let listed = 0;
  // Without parameters the grid is one empty assignment: the baseline alone.
  if (study.parameters.size > 0) {
    const isLarge = count.feasible > MAX_LISTED;
    const candidates = isLarge
      ? sampledAssignments(space, production, MAX_LISTED)
      : feasibleAssignments(space);
    for (const assignment of candidates) {
      listed += 1;
      listing.add(assignment);
    }
  }
  listing.nameWhatRuns();
  return {
    trials: listing.trials,
    skipped: [...constraintGroups(count), ...listing.illegal.values()],
    equivalent: listing.equivalent,
    space: count,
    warnings: undecided.map(
      ({ constraint, facts }) =>
        `${constraint.text}: ${facts.join(', ')} of the target is not known, so it rejects nothing`,
    ),
    unlisted: study.parameters.size === 0 ? 0 : count.feasible - listed,
  };
}

function constraintGroups({ rejected }: SpaceCount): readonly SkippedGroup[] {
  return rejected
    .filter(({ count }) => count > 0)
    .map(({ constraint, count }) => ({
      rule: constraint.text,
      reason:
        constraint.line === undefined
          ? 'a constraint of the study file'
          : `constraint in line ${String(constraint.line)} of the study file`,
      by: 'constraint' as const,
      count,
      assignments: [],
    }));
}
