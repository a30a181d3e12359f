import type { Study } from '../config/study.ts';
import { promisingTrials } from '../ranking/promising.ts';
import { rankTrials } from '../ranking/rank-trials.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import { forecastOfStudy } from './launched-trials.ts';

/** Rounds that a confirmation should have: with fewer launches to spend, fewer finalists share them. */
const WORTHWHILE_ROUNDS = 6;

/**
 * Numbers of the trials that get confirming launches, best first, at most `measure.finalists`:
 * those that all launches together say most for (the model of effects, so that one lucky launch
 * does not make a finalist). Empty when everything is clearly slower than the baseline: then there
 * is nothing to confirm.
 *
 * @param affordableLaunches what the budget still holds.
 */
export function chooseFinalists(
  trials: readonly TrialData[],
  study: Study,
  affordableLaunches: number,
): readonly number[] {
  const ranking = rankTrials({
    trials,
    profile: study.profile,
    scoreKind: study.objective.score,
    limits: study.objective.limits,
  });
  const forecast = forecastOfStudy(trials, study);
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  if (baseline === undefined) return [];
  const level = forecast.predict(baseline.assignment).mean;
  const baselineScore = ranking.trials.find(({ isBaseline }) => isBaseline)?.score ?? 1;
  return promisingTrials(
    ranking,
    affordableFinalists(study.measure.finalists, study.measure.launches - 1, affordableLaunches),
    ({ assignment }) => baselineScore * Math.exp(forecast.predict(assignment).mean - level),
  );
}

/** How many finalists `launches` confirming launches serve with enough rounds each. */
export function affordableFinalists(wanted: number, rounds: number, launches: number): number {
  const enough = Math.min(rounds, WORTHWHILE_ROUNDS);
  if (enough < 1 || !Number.isFinite(launches)) return wanted;
  return Math.min(wanted, Math.max(1, Math.floor(launches / enough) - 1));
}

/**
 * Launches that confirm a search at most: `launches - 1` of each finalist and of the baseline.
 * None where there is nothing to confirm.
 *
 * @param trials trials beside the baseline.
 */
export function confirmingLaunches(finalists: number, launches: number, trials: number): number {
  const arms = Math.min(finalists, trials);
  return arms <= 0 ? 0 : (arms + 1) * Math.max(0, launches - 1);
}
