import type { Study } from '../config/study.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import { mostPromising } from '../samplers/budgeted.ts';
import type { StoredLaunch, StoredMeasurement, StoredTrial } from '../storage/study-store.ts';
import { forecastOfStudy } from './launched-trials.ts';

/** As few trials as this are launched as listed: all of them are over soon. */
const LISTED_ORDER = 12;

/**
 * Which of the waiting trials is launched next: the one that promises most for its time, by all
 * that the launches so far say (samplers/forecast.ts). With a dozen trials in all, the first.
 */
export function nextInSearch(
  waiting: readonly StoredTrial[],
  planned: number,
  data: readonly TrialData[],
  study: Study,
  secondsOf: (trial: number) => number | undefined,
): StoredTrial | undefined {
  if (planned <= LISTED_ORDER || waiting.length < 2) return waiting[0];
  const forecast = forecastOfStudy(data, study, secondsOf);
  const byAssignment = new Map(waiting.map((trial) => [trial.assignment, trial]));
  const best = mostPromising([...byAssignment.keys()], forecast);
  return best === undefined ? waiting[0] : byAssignment.get(best);
}

/** Mean seconds of a trial's launches: start, and its measurements. */
export function launchSeconds(
  trials: readonly StoredTrial[],
  launches: readonly StoredLaunch[],
  measurements: readonly StoredMeasurement[],
): (trial: number) => number | undefined {
  const seconds = new Map<number, { total: number; launches: number }>();
  for (const { trialId, readySeconds } of launches) {
    const own = seconds.get(trialId) ?? { total: 0, launches: 0 };
    if (readySeconds === null) continue;
    seconds.set(trialId, { total: own.total + readySeconds, launches: own.launches + 1 });
  }
  for (const { trialId, metrics } of measurements) {
    const own = seconds.get(trialId);
    if (own !== undefined) own.total += metrics.durationSeconds;
  }
  const idOf = new Map(trials.map(({ number, id }) => [number, id]));
  return (trial) => {
    const own = seconds.get(idOf.get(trial) ?? -1);
    return own === undefined ? undefined : own.total / own.launches;
  };
}
