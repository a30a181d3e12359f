import { mean } from '../metrics/statistics.ts';
import type { StudyStore } from '../storage/study-store.ts';
import type { Experience } from './estimate.ts';

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
    pointSeconds: new Map(
      [...durations].map(([concurrency, seconds]) => [concurrency, (mean(seconds) ?? 0) * 1.5]),
    ),
  };
}
