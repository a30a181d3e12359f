import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { StoredMeasurement, StoredTrial } from '../storage/study-store.ts';

/** A measurement with the number of its trial, for reports. */
export interface TrialPoint {
  readonly trial: number;
  readonly metrics: PointMetrics;
}

/** The measurements of a study by trial number, then in the order they were taken. */
export function trialPoints(
  trials: readonly StoredTrial[],
  measurements: readonly StoredMeasurement[],
): readonly TrialPoint[] {
  const numbers = new Map(trials.map(({ id, number }) => [id, number]));
  return measurements
    .map(({ trialId, metrics }) => ({ trial: numbers.get(trialId) ?? -1, metrics }))
    .sort((a, b) => a.trial - b.trial);
}
