import { type Assignment, assignmentKey } from '../search-space/assignment.ts';
import { countSpace } from '../search-space/count.ts';
import { feasibleAssignments } from '../search-space/grid.ts';
import type { SearchSpace } from '../search-space/space.ts';
import { type Forecast, forecastOf } from './forecast.ts';
import { fresh, LegalAssignments, seededUniform } from './random-assignments.ts';
import type { FinishedTrial, Sampler } from './sampler.ts';

/** Spaces up to this size are looked through whole at each proposal. */
const LISTED = 1500;
/** Random assignments, and best ones whose neighbours are looked at, in a larger space. */
const DRAWN = 500;
const NEIGHBOURHOODS = 4;
/** The most promising of all these get their own neighbours looked at, so often. */
const CLIMBS = 3;

/**
 * Proposes what promises most for its cost, learning from every finished launch which values and
 * pairs of values are fast, which do not run, and which take long (forecast.ts). Ends when every
 * assignment was proposed; when to stop before that is the budget's business.
 *
 * A large space is never listed: candidates are random legal assignments, the neighbours of the
 * best so far, and a climb from the most promising of those. Memory and time do not grow with it.
 */
export const budgetedSampler: Sampler = {
  next(space, finished) {
    const known = new Set(finished.map(({ assignment }) => assignmentKey(assignment)));
    const legal = new LegalAssignments(space);
    const forecast = forecastOf(legal.parameters, finished);
    if (isListable(space)) {
      return mostPromising(fresh(feasibleAssignments(space), known), forecast);
    }
    const start = mostPromising(fresh(candidates(legal, forecast, finished), known), forecast);
    return start === undefined ? firstFresh(space, known) : climb(start, legal, forecast, known);
  },
};

/** The assignment with the most promise; of equals the first. */
export function mostPromising(
  assignments: readonly Assignment[],
  forecast: Forecast,
): Assignment | undefined {
  let best: Assignment | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const assignment of assignments) {
    const promise = forecast.promise(assignment);
    if (promise <= most) continue;
    best = assignment;
    most = promise;
  }
  return best;
}

function isListable(space: SearchSpace): boolean {
  let product = 1;
  for (const values of space.parameters.values()) product *= values.length + 1;
  return product <= LISTED || countSpace(space).feasible <= LISTED;
}

function* candidates(
  legal: LegalAssignments,
  forecast: Forecast,
  finished: readonly FinishedTrial[],
): Generator<Assignment, void, undefined> {
  const random = seededUniform(finished.length + 1);
  for (let i = 0; i < DRAWN; i += 1) {
    const drawn = legal.draw(random);
    if (drawn !== undefined) yield drawn;
  }
  const scored = finished
    .filter(({ launches = [] }) => launches.length > 0)
    .map(({ assignment }) => ({ assignment, mean: forecast.predict(assignment).mean }))
    .sort((a, b) => b.mean - a.mean);
  for (const { assignment } of scored.slice(0, NEIGHBOURHOODS)) {
    yield* legal.neighbours(assignment, 1);
  }
}

function climb(
  start: Assignment,
  legal: LegalAssignments,
  forecast: Forecast,
  known: ReadonlySet<string>,
): Assignment {
  let best = start;
  for (let step = 0; step < CLIMBS; step += 1) {
    const next = mostPromising([best, ...fresh(legal.neighbours(best, 1), known)], forecast);
    if (next === undefined || next === best) break;
    best = next;
  }
  return best;
}

/** Nearly everything was proposed already: the first that was not. */
function firstFresh(space: SearchSpace, known: ReadonlySet<string>): Assignment | undefined {
  for (const assignment of feasibleAssignments(space)) {
    if (!known.has(assignmentKey(assignment))) return assignment;
  }
  return undefined;
}
