import type { RankedTrial, Ranking } from './ranking.ts';

/** A trial this far below the baseline in its one launch is not worth confirming (about 2 sd). */
const HOPELESS_FRACTION = 0.03;

/**
 * Trials worth confirming, best first, at most `count`: eligible, not the baseline, and not so far
 * below it that the noise of one launch could not explain it. The best of many is often no better
 * than the baseline in its one launch by bad luck, so a score below it does not rule it out.
 *
 * @param promiseOf score to choose by, e.g. of a model of all launches; default the trial's own.
 */
export function promisingTrials(
  { trials }: Ranking,
  count: number,
  promiseOf: (trial: RankedTrial) => number | undefined = ({ score }) => score ?? undefined,
): readonly number[] {
  const baseline = trials.find(({ isBaseline }) => isBaseline);
  // Without an eligible baseline there is nothing to stay above.
  const bar = baseline?.eligible === true ? (baseline.score ?? 0) * (1 - HOPELESS_FRACTION) : 0;
  return trials
    .filter(({ eligible, isBaseline }) => eligible && !isBaseline)
    .map((trial) => ({ trial: trial.trial, promise: promiseOf(trial) ?? trial.score ?? 0 }))
    .filter(({ promise }) => promise > bar)
    .sort((a, b) => b.promise - a.promise)
    .slice(0, count)
    .map(({ trial }) => trial);
}
