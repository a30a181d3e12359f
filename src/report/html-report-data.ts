import { type Decision, decide } from '../ranking/decide.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import type {
  StoredLaunch,
  StoredMeasurement,
  StoredStudy,
  StoredTrial,
  StudyStore,
} from '../storage/study-store.ts';
import type { Recommendation } from '../study/recommendation.ts';
import { type GpuReading, gpuReadings } from './gpu-readings.ts';
import { type CellIntervals, cellIntervals } from './html-intervals.ts';

/** A ranking, or why there is none (a sweep that ended before the baseline was measured). */
export type RankingOutcome =
  | { readonly state: 'ranked'; readonly ranking: Ranking }
  | { readonly state: 'unranked'; readonly problem: string };

/** The recommended files, or why they cannot be made. */
export type RecommendationOutcome =
  | { readonly state: 'made'; readonly recommendation: Recommendation }
  | { readonly state: 'none'; readonly problem: string };

/** Everything the HTML report shows; what the store holds and what follows from it. */
export interface ReportData {
  readonly study: StoredStudy;
  readonly trials: readonly StoredTrial[];
  readonly launches: readonly StoredLaunch[];
  readonly measurements: readonly StoredMeasurement[];
  readonly outcome: RankingOutcome;
  readonly decision: Decision | null;
  readonly recommendation: RecommendationOutcome;
  readonly intervals: CellIntervals;
  /** What the GPUs did during each measurement, in order of time; empty where nothing was sampled. */
  readonly gpuReadings: readonly GpuReading[];
  /** Where production's unit lies; null for a launch command. */
  readonly unitPath: string | null;
  readonly version: string;
  readonly madeAtMs: number;
}

export interface ReportInput {
  readonly store: StudyStore;
  readonly study: StoredStudy;
  readonly outcome: RankingOutcome;
  readonly recommendation: RecommendationOutcome;
  readonly unitPath: string | null;
  /** Of nightsweep. */
  readonly version: string;
  readonly madeAtMs: number;
}

/** Reads what the report shows of a study from the store. */
export function reportData({ store, ...input }: ReportInput): ReportData {
  const { study, outcome } = input;
  const measurements = store.measurements(study.id);
  return {
    ...input,
    trials: store.trials(study.id),
    launches: store.launches(study.id),
    measurements,
    gpuReadings: gpuReadings(measurements, (id) => store.gpuSamples(id)),
    decision: outcome.state === 'ranked' ? decide(outcome.ranking) : null,
    intervals: cellIntervals(store.trialData(study.id), confidenceOf(outcome)),
  };
}

function confidenceOf(outcome: RankingOutcome): number {
  return outcome.state === 'ranked' ? outcome.ranking.confidence : 0.95;
}

/** The trials of a ranking; empty when there is none. */
export function rankedTrials({ outcome }: ReportData): readonly RankedTrial[] {
  return outcome.state === 'ranked' ? outcome.ranking.trials : [];
}

/** Number shown to users of each trial, by id. */
export function trialNumbers(trials: readonly StoredTrial[]): ReadonlyMap<number, number> {
  return new Map(trials.map(({ id, number }) => [id, number]));
}
