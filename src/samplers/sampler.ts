import type { Assignment } from '../search-space/assignment.ts';
import type { SearchSpace } from '../search-space/space.ts';

/** A trial that is over, or was decided without a launch. */
export interface FinishedTrial {
  readonly assignment: Assignment;
  readonly state: 'completed' | 'partial' | 'infeasible' | 'failed' | 'skipped';
  /** What its launches say; absent or empty where none was measured at the whole profile. */
  readonly launches?: readonly FinishedLaunch[];
  /** Seconds of one launch of it, from start to stop; absent where it is not known. */
  readonly seconds?: number;
}

/** One launch of a finished trial. */
export interface FinishedLaunch {
  /** Place in the order of all launches, so that a slow change of the machine can be told. */
  readonly at: number;
  /** Stretch between jumps of the machine that it belongs to (`eraOf`); default 0. */
  readonly era?: number;
  /** Natural logarithm of the score, on a scale that all trials of the study share. */
  readonly logScore: number;
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
