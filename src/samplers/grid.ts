import { assignmentKey } from '../search-space/assignment.ts';
import { feasibleAssignments } from '../search-space/grid.ts';
import type { Sampler } from './sampler.ts';

/** Every feasible assignment once, in the order of the grid. */
export const gridSampler: Sampler = {
  next(space, finished) {
    const known = new Set(finished.map(({ assignment }) => assignmentKey(assignment)));
    for (const assignment of feasibleAssignments(space)) {
      if (!known.has(assignmentKey(assignment))) return assignment;
    }
    return undefined;
  },
};
