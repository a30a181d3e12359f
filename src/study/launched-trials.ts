import type { Study } from '../config/study.ts';
import type { LaunchedTrial } from '../ranking/confirmation.ts';
import { eraOf, type Jump, jumpsOf, PRIOR_NOISE } from '../ranking/drift.ts';
import { launchScores } from '../ranking/launch-scores.ts';
import { weighted } from '../ranking/profile.ts';
import { cellsOf, commonKinds } from '../ranking/speeds.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import { type Forecast, forecastOf } from '../samplers/forecast.ts';
import type { FinishedTrial } from '../samplers/sampler.ts';
import type { Assignment } from '../search-space/assignment.ts';

export type JudgedBy = Pick<Study, 'profile' | 'objective'>;

/** Every trial's launches with their scores, by the study's own profile and kind of score. */
export function launchedTrials(
  data: readonly TrialData[],
  { profile, objective }: JudgedBy,
): readonly (LaunchedTrial & { readonly assignment: Assignment })[] {
  const kinds = commonKinds(data);
  return data.map((trial) => ({
    trial: trial.trial,
    isBaseline: trial.isBaseline,
    assignment: trial.assignment,
    launches: launchScores(objective.score, weighted(profile), cellsOf(trial, kinds)),
  }));
}

/** Jumps of the machine that the baseline's launches show. */
export function jumpsSeen(trials: readonly LaunchedTrial[]): readonly Jump[] {
  return jumpsOf(trials.find(({ isBaseline }) => isBaseline)?.launches ?? [], PRIOR_NOISE);
}

/** What a study's launches so far let expect of assignments that were not launched. */
export function forecastOfStudy(
  data: readonly TrialData[],
  study: JudgedBy & Pick<Study, 'parameters'>,
  secondsOf: (trial: number) => number | undefined = () => undefined,
): Forecast {
  const trials = launchedTrials(data, study);
  const jumps = jumpsSeen(trials);
  const byNumber = new Map(trials.map((one) => [one.trial, one]));
  const finished = data.map(({ trial, assignment, state }): FinishedTrial => {
    const seconds = secondsOf(trial);
    const launches = (byNumber.get(trial)?.launches ?? []).flatMap(({ launch: at, logScore }) => {
      const era = eraOf(at, jumps);
      return era === undefined ? [] : { at, era, logScore };
    });
    return { assignment, state, launches, ...(seconds === undefined ? {} : { seconds }) };
  });
  return forecastOf(study.parameters, finished);
}
