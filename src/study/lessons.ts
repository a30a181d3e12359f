import type { Assignment } from '../search-space/assignment.ts';
import { type InferredFailure, inferFailure, type SeenFailure } from '../sglang/infer-failures.ts';
import type { StoredTrial, StudyStore } from '../storage/study-store.ts';
import type { LaunchOutcome } from './run-launch.ts';

const META_KEY = 'lessons';

interface StoredLessons {
  readonly failures: readonly SeenFailure[];
  /** Numbers of the trials that were skipped because of them. */
  readonly skipped: readonly number[];
}

/**
 * What the failures of a study say about the trials that are still to come. Kept in the store, so
 * that a resumed sweep has learned the same.
 */
export class Lessons {
  readonly #store: StudyStore;
  readonly #studyId: number;
  #failures: readonly SeenFailure[];
  #skipped: readonly number[];
  readonly #started: Assignment[];

  constructor(store: StudyStore, studyId: number) {
    this.#store = store;
    this.#studyId = studyId;
    const { failures, skipped } = readLessons(store, studyId);
    this.#failures = failures;
    this.#skipped = skipped;
    const ready = new Set(
      store
        .launches(studyId)
        .filter(({ readySeconds }) => readySeconds !== null)
        .map(({ trialId }) => trialId),
    );
    this.#started = store
      .trials(studyId)
      .filter(({ id }) => ready.has(id))
      .map(({ assignment }) => assignment);
  }

  /** Takes in how a launch of this trial ended. */
  learn({ number: trial, assignment }: StoredTrial, outcome: LaunchOutcome): void {
    if (outcome.state !== 'not-ready') this.#started.push(assignment);
    const failure = failureToLearn(outcome);
    if (failure === undefined) return;
    const { code, kind, message, directions } = failure;
    if (kind !== 'infeasible') return;
    this.#failures = [
      ...this.#failures.filter((seen) => seen.trial !== trial),
      { trial, assignment, cause: { code, kind, message, directions } },
    ];
    this.#save();
  }

  /**
   * Why this trial is expected to fail; undefined when nothing speaks against a launch. What a
   * trial already measured stands against any inference.
   */
  expectedFailure({ id, assignment }: StoredTrial): InferredFailure | undefined {
    if (this.#store.measuredKeys(id).length > 0) return undefined;
    return inferFailure(assignment, this.#failures, this.#started);
  }

  /** Marks the trial as skipped for an inferred failure; returns the reason as shown. */
  skip(trial: StoredTrial, { code, reason }: InferredFailure): string {
    const shown = `inferred: ${reason}`;
    this.#store.setTrialState(trial.id, 'skipped', code, shown);
    this.#skipped = [...this.#skipped, trial.number];
    this.#save();
    return shown;
  }

  #save(): void {
    const lessons: StoredLessons = { failures: this.#failures, skipped: this.#skipped };
    this.#store.setStudyMeta(this.#studyId, META_KEY, lessons);
  }
}

function failureToLearn(outcome: LaunchOutcome): SeenFailure['cause'] | undefined {
  if (outcome.state === 'not-ready' || outcome.state === 'crashed') return outcome.failure;
  const isNotInForce = outcome.state === 'settled' && outcome.report.state === 'not-in-force';
  return isNotInForce ? outcome.report.failure : undefined;
}

/** Drops what was learned and plans the trials again that were skipped because of it. */
export function forgetLessons(store: StudyStore, studyId: number): void {
  const { skipped } = readLessons(store, studyId);
  for (const trial of store.trials(studyId)) {
    if (trial.state === 'skipped' && skipped.includes(trial.number)) {
      store.setTrialState(trial.id, 'planned', null, null);
    }
  }
  store.setStudyMeta(studyId, META_KEY, null);
}

function readLessons(store: StudyStore, studyId: number): StoredLessons {
  const stored = store.studyMeta(studyId, META_KEY) as StoredLessons | null | undefined;
  return stored ?? { failures: [], skipped: [] };
}
