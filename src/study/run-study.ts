import { confirmationOf } from '../ranking/confirmation.ts';
import { beginsPair, confirmingOrder, nextConfirmingStep } from '../ranking/confirming-plan.ts';
import { FIRST_CONFIRMING_ROUND } from '../ranking/phases.ts';
import type { StoredTrial } from '../storage/study-store.ts';
import {
  BASELINE_EVERY,
  droppedInJump,
  FIRST_SEARCH_ROUND,
  invalidatedTrials,
  isBaselineDue,
  isDropUnproven,
  nextSearchRound,
} from './baseline-rounds.ts';
import { chooseFinalists, confirmingLaunches } from './finalists.ts';
import { jumpsSeen, launchedTrials } from './launched-trials.ts';
import { launchSeconds, nextInSearch } from './search-order.ts';
import { type LauncherDeps, TrialLauncher } from './trial-launcher.ts';

/** Of the intervals that end the confirmation; the ranking's own. */
const CONFIDENCE = 0.95;

export interface SweepDeps extends LauncherDeps {
  /**
   * Asked before each launch: why the machine is in no state for one (a full disk, GPU memory that
   * a stopped server never gave back). The sweep ends there.
   */
  readonly environmentProblem?: (signal: AbortSignal) => Promise<string | undefined>;
}

/** Why the sweep stopped launching. */
export type SweepEnd =
  | { readonly state: 'finished' }
  | { readonly state: 'budget-spent'; readonly launchesLeft: number }
  | { readonly state: 'broken-environment'; readonly reason: string };

/**
 * Runs what is left of a study: the baseline, each trial with the baseline along the way, then
 * confirming rounds of the finalists and the baseline, interleaved, the baseline last.
 *
 * What is measured already is kept, whoever measured it; a sweep that was killed continues with
 * the same call. Throws UserError when the baseline itself cannot be measured.
 */
export async function runStudy(deps: SweepDeps, signal: AbortSignal): Promise<SweepEnd> {
  const sweep = new Sweep(deps, signal);
  const [baseline, ...others] = deps.trials;
  if (baseline?.isBaseline !== true) throw new Error('trial 0 is not the baseline');

  const searched = await sweep.search(baseline, others);
  if (searched?.state === 'broken-environment') return searched;
  // A search that the budget cut short still gets its best trials confirmed.
  const finalists = sweep.finalists(searched === undefined);
  return (await sweep.confirm(baseline, finalists)) ?? searched ?? { state: 'finished' };
}

/** State of one call of runStudy; everything that must survive it is in the store. */
class Sweep {
  readonly #deps: SweepDeps;
  readonly #signal: AbortSignal;
  readonly #launcher: TrialLauncher;
  /** Trial and round of every launch of this call: what failed is not tried over and over. */
  readonly #tried = new Set<string>();

  constructor(deps: SweepDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#launcher = new TrialLauncher(deps, signal);
    this.#launcher.settleMeasured();
  }

  /**
   * One launch for the baseline and for each trial, the most promising first, the baseline again
   * along the way; what was launched while the machine jumped is launched once more. Defined when
   * the sweep must end.
   */
  async search(
    baseline: StoredTrial,
    others: readonly StoredTrial[],
  ): Promise<SweepEnd | undefined> {
    const first = await this.#launchIfMissing(baseline, FIRST_SEARCH_ROUND, 0);
    if (first !== undefined) return first;
    for (;;) {
      const { trial, round } = this.#nextInSearch(baseline, others);
      if (trial === undefined) return undefined;
      const end = await this.#launchIfMissing(trial, round, this.#reserved());
      if (end !== undefined) return end;
      if (trial.isBaseline) this.#tellOfJump();
    }
  }

  /**
   * Rounds of the finalists and the baseline, in mirrored pairs, until nothing more can change
   * (ranking/confirming-plan.ts). Every step follows from the store, so that a resumed sweep goes
   * on as it would have.
   */
  async confirm(
    baseline: StoredTrial,
    finalists: readonly StoredTrial[],
  ): Promise<SweepEnd | undefined> {
    const rounds = this.#deps.study.measure.launches - 1;
    let running = finalists;
    // Rounds that a jump voids are made up for, but not for ever.
    for (let round = 0; round < 2 * rounds && running.length > 0; round += 1) {
      if (beginsPair(round, rounds) || round === 0) {
        running = this.#stillRunning(finalists, round, rounds);
        if (running.length === 0) break;
      }
      for (const trial of confirmingOrder(running, baseline, round, rounds)) {
        const arms = [...running, baseline];
        const left = this.#confirmingLeft(arms, round, rounds);
        const end = await this.#launchIfMissing(trial, FIRST_CONFIRMING_ROUND + round, 0, left);
        if (end !== undefined) return end;
      }
    }
    return undefined;
  }

  /** Chosen once all trials are in, and stored: a resumed sweep confirms the same trials. */
  finalists(searchIsOver: boolean): readonly StoredTrial[] {
    const { store, stored, study, emit, budget } = this.#deps;
    const known = store.studyMeta(stored.id, 'finalists');
    const numbers = Array.isArray(known)
      ? (known as number[])
      : study.measure.launches < 2
        ? []
        : chooseFinalists(store.trialData(stored.id), study, budget.launchesLeft());
    if (searchIsOver && !Array.isArray(known)) store.setStudyMeta(stored.id, 'finalists', numbers);
    emit({ type: 'finalists', trials: numbers });
    const byNumber = new Map(store.trials(stored.id).map((trial) => [trial.number, trial]));
    return numbers.flatMap((number) => byNumber.get(number) ?? []);
  }

  /** What the search launches next, and as which of its rounds; no trial when it is over. */
  #nextInSearch(
    baseline: StoredTrial,
    others: readonly StoredTrial[],
  ): { readonly trial: StoredTrial | undefined; readonly round: number } {
    const { store, stored, study } = this.#deps;
    const data = store.trialData(stored.id);
    const launched = launchedTrials(data, study);
    const round = FIRST_SEARCH_ROUND;
    const searched = [...others, ...this.#launcher.released()];
    const judgedInJump = droppedInJump(data, launched, searched);
    for (const { id } of judgedInJump) store.setTrialState(id, 'planned', null, null);
    const now = this.#trialsNow();
    const open = (trial: StoredTrial, at: number) =>
      !this.#tried.has(tryOf(trial, at)) && !this.#launcher.isOver(trial, at, now.get(trial.id));
    const again = [...invalidatedTrials(launched, searched), ...judgedInJump].filter((trial) =>
      open(trial, round + 1),
    );
    const waiting = searched.filter(
      (trial) =>
        open(trial, round) && !judgedInJump.includes(trial) && !this.#launcher.isHopeless(trial),
    );
    const isSearched = waiting.length === 0 && again.length === 0;
    if (isSearched && !isDropUnproven(launched, data)) return { trial: undefined, round };
    const baselineRound = nextSearchRound(store.measuredKeys(baseline.id));
    if ((isSearched || isBaselineDue(launched, data)) && open(baseline, baselineRound)) {
      return { trial: baseline, round: baselineRound };
    }
    const [repeated] = again;
    if (repeated !== undefined) return { trial: repeated, round: round + 1 };
    const seconds = launchSeconds(
      store.trials(stored.id),
      store.launches(stored.id),
      store.measurements(stored.id),
    );
    return { trial: nextInSearch(waiting, others.length, data, study, seconds), round };
  }

  /** Finalists whose launches before this round leave something open. */
  #stillRunning(
    finalists: readonly StoredTrial[],
    round: number,
    maximumRounds: number,
  ): readonly StoredTrial[] {
    const { store, stored, study, emit } = this.#deps;
    const able = finalists.filter((trial) => this.#launcher.current(trial).state === 'completed');
    const before = launchedTrials(store.trialData(stored.id), study).map((one) => ({
      ...one,
      launches: one.launches.filter((launch) => launch.round < FIRST_CONFIRMING_ROUND + round),
    }));
    const step = nextConfirmingStep(
      confirmationOf(before, CONFIDENCE),
      able.map(({ number }) => number),
      maximumRounds,
    );
    if (step.state === 'done') {
      emit({ type: 'confirmed', rounds: round, why: step.why });
      return [];
    }
    return able.filter(({ number }) => step.finalists.includes(number));
  }

  #tellOfJump(): void {
    const { store, stored, study, emit } = this.#deps;
    const data = store.trialData(stored.id);
    const launched = launchedTrials(data, study);
    const jump = jumpsSeen(launched).at(-1);
    const last = launched.find(({ isBaseline }) => isBaseline)?.launches.at(-1);
    if (jump === undefined || jump.after.launch !== last?.launch) return;
    const { trials: planned } = this.#deps;
    const trials = [
      ...invalidatedTrials(launched, planned),
      ...droppedInJump(data, launched, planned),
    ].map(({ number }) => number);
    emit({ type: 'jump', changeFraction: jump.changeFraction, trials });
  }

  /** Launches kept back for confirming while the search goes on. */
  #reserved(): number {
    const { study, trials } = this.#deps;
    const { finalists, launches } = study.measure;
    return confirmingLaunches(finalists, launches, trials.length - 1);
  }

  /** Every trial as stored now, by id: thousands are read at once, not one by one. */
  #trialsNow(): ReadonlyMap<number, StoredTrial> {
    const { store, stored } = this.#deps;
    return new Map(store.trials(stored.id).map((trial) => [trial.id, trial]));
  }

  /** One launch of a trial unless its round is measured; defined when the sweep must end. */
  async #launchIfMissing(
    trial: StoredTrial,
    round: number,
    reserved: number,
    left = this.#launchesLeft(),
  ): Promise<SweepEnd | undefined> {
    if (this.#launcher.isOver(trial, round) || this.#launcher.isHopeless(trial)) return undefined;
    if (!this.#deps.budget.allowsLaunch(reserved)) {
      return { state: 'budget-spent', launchesLeft: left };
    }
    const problem = await this.#deps.environmentProblem?.(this.#signal);
    if (problem !== undefined) return { state: 'broken-environment', reason: problem };
    this.#tried.add(tryOf(trial, round));
    const broken = await this.#launcher.measureTrial(trial, round, left);
    return broken === undefined ? undefined : { state: 'broken-environment', reason: broken };
  }

  /** Confirming launches still to come at most: the rest of this round, and the rounds after it. */
  #confirmingLeft(arms: readonly StoredTrial[], round: number, rounds: number): number {
    const open = arms.filter(
      (trial) => !this.#launcher.isOver(trial, FIRST_CONFIRMING_ROUND + round),
    );
    return open.length + Math.max(0, rounds - 1 - round) * arms.length;
  }

  /** Launches of the plan as known now, the one to come included; confirming ones at most. */
  #launchesLeft(): number {
    const { study, trials } = this.#deps;
    const { finalists, launches } = study.measure;
    const now = this.#trialsNow();
    const waiting = trials.filter(
      (trial) => !this.#launcher.isOver(trial, FIRST_SEARCH_ROUND, now.get(trial.id)),
    ).length;
    const confirming = confirmingLaunches(finalists, launches, trials.length - 1);
    return Math.max(1, waiting + Math.floor(waiting / BASELINE_EVERY)) + confirming;
  }
}

function tryOf({ id }: StoredTrial, round: number): string {
  return `${String(id)}/${String(round)}`;
}
