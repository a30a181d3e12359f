import type { Assignment } from '../search-space/assignment.ts';
import { sameValue } from '../search-space/values.ts';

/**
 * Parameters whose value differs from the baseline's, sorted. One that is missing is as production
 * has it; one that the baseline's assignment does not name counts as changed, as its value there
 * is not known here.
 */
export function changedParameters(
  assignment: Assignment,
  baseline: Assignment | undefined,
): readonly string[] {
  return Object.entries(assignment)
    .filter(([name, value]) => {
      const reference = baseline?.[name];
      return reference === undefined || !sameValue(value, reference);
    })
    .map(([name]) => name)
    .sort();
}
