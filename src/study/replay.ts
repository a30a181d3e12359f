import type { TrialData } from '../ranking/trial-data.ts';
import { mostPromising } from '../samplers/budgeted.ts';
import { forecastOf } from '../samplers/forecast.ts';
import type { SamplerName } from '../samplers/registry.ts';
import type { FinishedTrial } from '../samplers/sampler.ts';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { type JudgedBy, launchedTrials } from './launched-trials.ts';

/** A launch of a replay: what was chosen, and what the search knew of the best after it. */
export interface ReplayStep {
  /** Number of the recorded trial. */
  readonly trial: number;
  /** Null: it did not run. */
  readonly scoreOverBaseline: number | null;
  readonly bestSoFar: number;
}

type Choose = (
  candidates: readonly FinishedTrial[],
  finished: readonly FinishedTrial[],
  parameters: ReadonlyMap<string, readonly FlagValue[]>,
) => FinishedTrial | undefined;

/** How each sampler chooses among recorded trials. */
const choosers = {
  grid: ([first]) => first,
  budgeted: (candidates, finished, parameters) => {
    const byAssignment = new Map(candidates.map((one) => [one.assignment, one]));
    const best = mostPromising([...byAssignment.keys()], forecastOf(parameters, finished));
    return best === undefined ? candidates[0] : byAssignment.get(best);
  },
} satisfies Record<SamplerName, Choose>;

/**
 * Runs a sampler over what a study has recorded, without a server: each choice is answered by the
 * trial's recorded search launches (the first of them), so samplers can be compared on the same
 * numbers. Only recorded trials can be chosen. Empty without a measured baseline.
 */
export function replay(
  data: readonly TrialData[],
  study: JudgedBy,
  sampler: SamplerName,
  launches = Infinity,
): readonly ReplayStep[] {
  const recorded = launchedTrials(data, study).map((one, index) => {
    const [first] = one.launches;
    const trial: FinishedTrial = {
      assignment: one.assignment,
      state: data[index]?.state ?? 'failed',
      launches: first === undefined ? [] : [{ at: 0, logScore: first.logScore }],
    };
    return { number: one.trial, isBaseline: one.isBaseline, trial };
  });
  const baseline = recorded.find(({ isBaseline }) => isBaseline);
  const level = baseline?.trial.launches?.[0]?.logScore;
  if (baseline === undefined || level === undefined) return [];
  const numbers = new Map(recorded.map(({ number, trial }) => [trial.assignment, number]));
  const parameters = valuesIn(recorded.map(({ trial }) => trial.assignment));
  const choose: Choose = choosers[sampler];

  const finished: FinishedTrial[] = [baseline.trial];
  let waiting = recorded.filter((one) => one !== baseline).map(({ trial }) => trial);
  const steps: ReplayStep[] = [];
  let best = 1;
  while (waiting.length > 0 && steps.length < launches) {
    const next = choose(waiting, finished, parameters);
    if (next === undefined) break;
    waiting = waiting.filter((one) => one !== next);
    finished.push({
      ...next,
      launches: (next.launches ?? []).map((one) => ({ ...one, at: finished.length })),
    });
    const log = next.launches?.[0]?.logScore;
    const score = log === undefined ? null : Math.exp(log - level);
    best = Math.max(best, score ?? 0);
    const trial = numbers.get(next.assignment) ?? -1;
    steps.push({ trial, scoreOverBaseline: score, bestSoFar: best });
  }
  return steps;
}

function valuesIn(assignments: readonly Assignment[]): ReadonlyMap<string, readonly FlagValue[]> {
  const values = new Map<string, FlagValue[]>();
  for (const assignment of assignments) {
    for (const [name, value] of Object.entries(assignment)) {
      values.set(name, [...(values.get(name) ?? []), value]);
    }
  }
  return values;
}
