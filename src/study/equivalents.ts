import { sameValue } from '../search-space/values.ts';
import type { StoredTrial, StudyStore } from '../storage/study-store.ts';
import { type MeasuredConfiguration, NOT_IN_FORCE } from './read-back.ts';

const META_KEY = 'released-equivalents';

/**
 * Which trials are one server, as far as servers have reported: corrects what the plan predicted.
 * Everything is kept in the store, so that a resumed sweep goes on with the same knowledge.
 */
export class Equivalents {
  readonly #store: StudyStore;
  readonly #studyId: number;

  constructor(store: StudyStore, studyId: number) {
    this.#store = store;
    this.#studyId = studyId;
  }

  /** Measured trials with the configuration that their servers reported, but for `except`. */
  measured(except: StoredTrial): readonly MeasuredConfiguration[] {
    return this.#reported()
      .filter(({ trial }) => trial.id !== except.id)
      .filter(({ trial }) => this.#store.measuredKeys(trial.id).length > 0)
      .map(({ trial, key }) => ({ trial: trial.number, key }));
  }

  /**
   * A trial that runs what was asked of it takes over the trials that ran the same without having
   * been asked for it.
   */
  adopt(trial: StoredTrial, key: string | null): void {
    for (const { trial: other, key: reported } of this.#reported()) {
      if (reported !== key || other.cause !== NOT_IN_FORCE || other.id === trial.id) continue;
      const reason = sameAsText(trial.number, REPORTED);
      this.#store.setTrialState(other.id, 'skipped', 'equivalent', reason);
    }
  }

  /**
   * Plans trials again that were predicted to be this trial's server, since the prediction proved
   * wrong: those that are laid to it, and wherever else only a mispredicted flag differs from the
   * trial they are laid to. Returns them.
   */
  release(trial: StoredTrial, mispredicted: readonly string[]): readonly StoredTrial[] {
    const trials = this.#store.trials(this.#studyId);
    const byNumber = new Map(trials.map((one) => [one.number, one]));
    const released = trials.filter((one) => {
      const twin = byNumber.get(predictedTwin(one) ?? -1);
      if (twin === undefined) return false;
      const differs = ({ assignment }: StoredTrial, name: string) =>
        !sameValue(assignment[name] ?? null, one.assignment[name] ?? null);
      return twin.id === trial.id || mispredicted.some((name) => differs(twin, name));
    });
    for (const { id } of released) this.#store.setTrialState(id, 'planned', null, null);
    const numbers = new Set([...this.#numbers(), ...released.map(({ number }) => number)]);
    this.#store.setStudyMeta(this.#studyId, META_KEY, [...numbers]);
    return released;
  }

  /** Every trial that was released so far, by number. */
  released(): readonly StoredTrial[] {
    const numbers = new Set(this.#numbers());
    return this.#store.trials(this.#studyId).filter(({ number }) => numbers.has(number));
  }

  #numbers(): readonly number[] {
    return (this.#store.studyMeta(this.#studyId, META_KEY) as number[] | null | undefined) ?? [];
  }

  #reported(): readonly { readonly trial: StoredTrial; readonly key: string }[] {
    const byId = new Map(this.#store.trials(this.#studyId).map((one) => [one.id, one]));
    return this.#store.launches(this.#studyId).flatMap(({ trialId, effective }) => {
      const trial = byId.get(trialId);
      const key = effective?.['key'];
      return trial === undefined || typeof key !== 'string' ? [] : [{ trial, key }];
    });
  }
}

/** Numbers of trials that an earlier call of the sweep took out of the predicted equivalents. */
export function releasedNumbers(store: StudyStore, studyId: number): ReadonlySet<number> {
  return new Set(new Equivalents(store, studyId).released().map(({ number }) => number));
}

/** As plan and read-back write it, and reports show it. */
export function sameAsText(number: number | undefined, how = ''): string {
  return `same as trial ${String(number)}${how}`;
}

/** Added where a server's own report said so, which stands against any prediction. */
export const REPORTED = ', as the server reports';

/** Whether a server's own report, not a prediction, made the trial an equivalent. */
export function isReportedEquivalent({ state, cause, reason }: StoredTrial): boolean {
  return state === 'skipped' && cause === 'equivalent' && (reason ?? '').endsWith(REPORTED);
}

function predictedTwin({ state, cause, reason }: StoredTrial): number | undefined {
  if (state !== 'skipped' || cause !== 'equivalent') return undefined;
  const number = /^same as trial (\d+)$/.exec(reason ?? '')?.[1];
  return number === undefined ? undefined : Number(number);
}
