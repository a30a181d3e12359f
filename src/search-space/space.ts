import type { Assignment, FlagValue } from './assignment.ts';
import type { Constraint } from './constraints.ts';
import { sameValue } from './values.ts';

/** Parameter to its values, in the order in which they are tried. No list is empty. */
export type Parameters = ReadonlyMap<string, readonly FlagValue[]>;

/** What a study searches. */
export interface SearchSpace {
  readonly parameters: Parameters;
  /** In the order of the study file: the first that an assignment breaks is the one blamed. */
  readonly constraints: readonly Constraint[];
}

/**
 * The same space with production's own value first in each list, so that a search that is cut
 * short has stayed near what is known to work. Values that production has but the study does not
 * list are not added.
 *
 * @param production what production runs; a parameter it lacks is absent there.
 */
export function productionFirst(space: SearchSpace, production: Assignment): SearchSpace {
  const parameters = new Map<string, readonly FlagValue[]>();
  for (const [name, values] of space.parameters) {
    const own = (value: FlagValue) => sameValue(value, production[name] ?? null);
    parameters.set(name, [...values.filter(own), ...values.filter((value) => !own(value))]);
  }
  return { ...space, parameters };
}
