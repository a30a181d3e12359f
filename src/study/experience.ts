import _ from 'lodash';
import { mean } from '../metrics/statistics.ts';
import type { ScoreKind } from '../ranking/score.ts';
import type {
  StoredLaunch,
  StoredMeasurement,
  StoredStudy,
  StudyStore,
} from '../storage/study-store.ts';
import type { Experience } from './estimate.ts';
import { launchedTrials } from './launched-trials.ts';

/**
 * What the launches of a study took so far: mean seconds to ready, and mean seconds of a
 * measurement by concurrency, half as much again for its warm-up.
 */
export function experienceOf(store: StudyStore, name: string): Experience {
  const study = store.findStudy(name);
  if (study === undefined) return { startSeconds: undefined, pointSeconds: new Map() };
  const starts = store.launches(study.id).flatMap(({ readySeconds }) => readySeconds ?? []);
  const durations = new Map<number, number[]>();
  for (const { concurrency, metrics } of store.measurements(study.id)) {
    durations.set(concurrency, [...(durations.get(concurrency) ?? []), metrics.durationSeconds]);
  }
  return {
    startSeconds: mean(starts),
    ...noiseOf(store, study),
    pointSeconds: new Map(
      [...durations].map(([concurrency, seconds]) => [concurrency, (mean(seconds) ?? 0) * 1.5]),
    ),
  };
}

/** Wall-clock seconds of each launch of a study that ran to its end, start to stop. */
export function launchDurations(launches: readonly StoredLaunch[]): readonly number[] {
  return launches.flatMap(({ state, startedAtMs, endedAtMs }) =>
    state === 'completed' && endedAtMs !== null && endedAtMs > startedAtMs
      ? (endedAtMs - startedAtMs) / 1000
      : [],
  );
}

/**
 * Launches that are measured completely: rounds of a trial with every concurrency and repeat.
 *
 * @param measurementsPerLaunch concurrencies of the profile times repeats.
 */
export function launchesDone(
  measurements: readonly Pick<StoredMeasurement, 'trialId' | 'round'>[],
  measurementsPerLaunch: number,
): number {
  const counts = _.countBy(measurements, ({ trialId, round }) => `${trialId}/${round}`);
  return Object.values(counts).filter((count) => count >= measurementsPerLaunch).length;
}

/** Launches of the baseline that tell how launches differ; fewer say too little. */
const FEWEST_LAUNCHES = 4;

function noiseOf(store: StudyStore, study: StoredStudy): Pick<Experience, 'noiseFraction'> {
  const judged = {
    profile: study.profile,
    objective: { score: study.scoreKind as ScoreKind, limits: [] },
  };
  const baseline = launchedTrials(store.trialData(study.id), judged).find((one) => one.isBaseline);
  const logs = (baseline?.launches ?? []).map(({ logScore }) => logScore);
  if (logs.length < FEWEST_LAUNCHES) return {};
  // Steps from launch to launch, which a slow drift hardly touches.
  const squares = logs.slice(1).map((log, i) => (log - (logs[i] ?? log)) ** 2 / 2);
  return { noiseFraction: Math.sqrt(mean(squares) ?? 0) };
}
