import type { Study } from '../config/study.ts';
import { mean } from '../metrics/statistics.ts';
import type { LaunchedTrial } from '../ranking/confirmation.ts';
import { eraOf, type Jump, jumpsOf, PRIOR_NOISE } from '../ranking/drift.ts';
import { launchScores } from '../ranking/launch-scores.ts';
import { weighted } from '../ranking/profile.ts';
import { logScore } from '../ranking/score.ts';
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
  const finished = data.map((one): FinishedTrial => {
    const { trial, assignment, state } = one;
    const seconds = secondsOf(trial);
    const known = one.dropped === true ? droppedLaunch(one, data, study) : undefined;
    const all = known === undefined ? (byNumber.get(trial)?.launches ?? []) : [known];
    const launches = all.flatMap(({ launch: at, logScore }) => {
      const era = eraOf(at, jumps);
      return era === undefined ? [] : { at, era, logScore };
    });
    return { assignment, state, launches, ...(seconds === undefined ? {} : { seconds }) };
  });
  return forecastOf(study.parameters, finished);
}

/**
 * What the launch of a dropped trial says: its score, were it elsewhere as far from the baseline as
 * where it was measured. It ran, which its flags should not be blamed for.
 */
function droppedLaunch(
  trial: TrialData,
  data: readonly TrialData[],
  { profile, objective }: JudgedBy,
): { readonly launch: number; readonly logScore: number } | undefined {
  const baseline = data.find(({ isBaseline }) => isBaseline);
  if (baseline === undefined) return undefined;
  const kinds = commonKinds(data);
  const own = cellsOf(trial, kinds);
  const level = cellsOf(baseline, kinds);
  const shared = [...own].flatMap(([c, { outputTokensPerSecond }]) => {
    const reference = level.get(c)?.outputTokensPerSecond;
    return reference === undefined ? [] : Math.log(outputTokensPerSecond / reference);
  });
  const gain = mean(shared);
  if (gain === undefined) return undefined;
  const speeds = new Map(
    [...level].map(([c, { outputTokensPerSecond }]) => [
      c,
      own.get(c)?.outputTokensPerSecond ?? outputTokensPerSecond * Math.exp(gain),
    ]),
  );
  const score = logScore(objective.score, weighted(profile), speeds);
  const launch = Math.max(
    ...[...own.values()].flatMap(({ logsByLaunch }) => [...logsByLaunch.keys()]),
  );
  return score === undefined ? undefined : { launch, logScore: score };
}
