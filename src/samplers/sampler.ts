import type { Assignment } from '../search-space/assignment.ts';
import type { SearchSpace } from '../search-space/space.ts';

/** A trial that is over, or was decided without a launch. */
export interface FinishedTrial {
  readonly assignment: Assignment;
  readonly state: 'completed' | 'partial' | 'infeasible' | 'failed' | 'skipped';
}

/**
 * Chooses the next assignment to measure.
 *
 * Samplers keep no state between calls: the finished trials are all they see, so an interrupted
 * study resumes from its stored trials alone. Same space and same finished trials, same answer.
 */
export interface Sampler {
  /**
   * The next assignment, or undefined when there is nothing left to propose. Never one that is
   * among the finished, never one that breaks a constraint.
   */
  next(space: SearchSpace, finished: readonly FinishedTrial[]): Assignment | undefined;
}
