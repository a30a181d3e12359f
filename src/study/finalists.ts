import type { Study } from '../config/study.ts';
import { rankTrials } from '../ranking/rank-trials.ts';
import type { TrialData } from '../ranking/trial-data.ts';

/**
 * Numbers of the trials that get further launches: the best eligible ones whose score is above the
 * baseline's, best first, at most `measure.finalists`. Empty when nothing beat the baseline even
 * once: then there is nothing to confirm.
 */
export function chooseFinalists(trials: readonly TrialData[], study: Study): readonly number[] {
  const ranking = rankTrials({
    trials,
    profile: study.profile,
    scoreKind: study.objective.score,
    limits: study.objective.limits,
  });
  const baseline = ranking.trials.find((entry) => entry.isBaseline);
  return ranking.trials
    .filter((entry) => entry.eligible && !entry.isBaseline)
    .filter(({ score }) => score !== null && score > (baseline?.score ?? 0))
    .slice(0, study.measure.finalists)
    .map((entry) => entry.trial);
}
