import type { Study } from '../config/study.ts';
import { mean } from '../metrics/statistics.ts';
import { confirmationOf } from '../ranking/confirmation.ts';
import { beginsPair, confirmingOrder, nextConfirmingStep } from '../ranking/confirming-plan.ts';
import { FIRST_CONFIRMING_ROUND, isConfirmingRound } from '../ranking/phases.ts';
import type { RunningServer } from '../server/target.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { MeasurementKey, StoredStudy, StoredTrial } from '../storage/study-store.ts';
import {
  BASELINE_EVERY,
  FIRST_SEARCH_ROUND,
  invalidatedTrials,
  isBaselineDue,
  nextSearchRound,
} from './baseline-rounds.ts';
import type { Budget } from './budget.ts';
import { chooseFinalists } from './finalists.ts';
import { keysOfRound, missingKeys } from './keys.ts';
import { jumpsSeen, launchedTrials } from './launched-trials.ts';
import { Lessons } from './lessons.ts';
import { type LaunchDeps, type LaunchJob, type LaunchOutcome, runLaunch } from './run-launch.ts';
import { launchSeconds, nextInSearch } from './search-order.ts';
import type { ServerFacts } from './services.ts';
import { baselineError, failureText, isEnvironment, mayBeChance, verdictOf } from './verdict.ts';

/** Launches given to one round of a trial while the environment, not the flags, is at fault. */
const ATTEMPTS_PER_ROUND = 2;

/** Environment failures in a row, over trials, that end the sweep: the rest would fail too. */
const BROKEN_AFTER_FAILURES = 3;

/** Of the intervals that end the confirmation; the ranking's own. */
const CONFIDENCE = 0.95;

/** How a trial's assignment becomes a launch. */
export interface LaunchBuilder {
  build(trial: StoredTrial, launchNumber: number): Pick<LaunchJob, 'request' | 'shown'>;
  /** Compares what was asked with what the server runs; returns what is stored. */
  effective(trial: StoredTrial, facts: ServerFacts, server: RunningServer): EffectiveConfiguration;
}

export interface SweepDeps extends LaunchDeps {
  readonly study: Study;
  readonly stored: StoredStudy;
  /** What this plan launches, the baseline first. */
  readonly trials: readonly StoredTrial[];
  readonly builder: LaunchBuilder;
  readonly budget: Budget;
  /** Compares the first baseline launch with recorded numbers; throws UserError on a mismatch. */
  readonly checkBaseline?: (facts: ServerFacts, signal: AbortSignal) => Promise<void>;
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
  readonly #lessons: Lessons;
  #launches = 0;
  #failuresInARow = 0;
  /** Trial and round of every launch of this call: what failed is not tried over and over. */
  readonly #tried = new Set<string>();

  constructor(deps: SweepDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#lessons = new Lessons(deps.store, deps.stored.id);
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
        const end = await this.#launchIfMissing(trial, FIRST_CONFIRMING_ROUND + round, 0);
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
    const open = (trial: StoredTrial, at: number) =>
      !this.#isOver(trial, at) && !this.#tried.has(tryOf(trial, at));
    const again = invalidatedTrials(launched, others).filter((trial) => open(trial, round + 1));
    const waiting = others.filter((trial) => open(trial, round) && !this.#isHopeless(trial));
    if (waiting.length === 0 && again.length === 0) return { trial: undefined, round };
    const baselineRound = nextSearchRound(store.measuredKeys(baseline.id));
    if (isBaselineDue(launched) && open(baseline, baselineRound)) {
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
    const able = finalists.filter((trial) => this.#current(trial).state === 'completed');
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
    const launched = launchedTrials(store.trialData(stored.id), study);
    const jump = jumpsSeen(launched).at(-1);
    const last = launched.find(({ isBaseline }) => isBaseline)?.launches.at(-1);
    if (jump === undefined || jump.after.launch !== last?.launch) return;
    const trials = invalidatedTrials(launched, this.#deps.trials).map(({ number }) => number);
    emit({ type: 'jump', changeFraction: jump.changeFraction, trials });
  }

  /** Launches kept back for confirming while the search goes on. */
  #reserved(): number {
    const { finalists, launches } = this.#deps.study.measure;
    return (finalists + 1) * (launches - 1);
  }

  /** One launch of a trial unless its round is measured; defined when the sweep must end. */
  async #launchIfMissing(
    trial: StoredTrial,
    round: number,
    reserved: number,
  ): Promise<SweepEnd | undefined> {
    if (this.#isOver(trial, round) || this.#isHopeless(trial)) return undefined;
    const left = this.#launchesLeft(round);
    if (!this.#deps.budget.allowsLaunch(reserved)) {
      return { state: 'budget-spent', launchesLeft: left };
    }
    const problem = await this.#deps.environmentProblem?.(this.#signal);
    if (problem !== undefined) return { state: 'broken-environment', reason: problem };
    this.#tried.add(tryOf(trial, round));
    return this.#measureTrial(trial, round, left);
  }

  async #measureTrial(
    trial: StoredTrial,
    round: number,
    launchesLeft: number,
  ): Promise<SweepEnd | undefined> {
    let outcome = await this.#launch(trial, round, launchesLeft);
    for (let attempt = 1; attempt < ATTEMPTS_PER_ROUND && mayBeChance(outcome); attempt += 1) {
      this.#deps.emit({
        type: 'notice',
        text: `trial ${String(trial.number)}: ${failureText(outcome)}; starting it once more`,
      });
      outcome = await this.#launch(trial, round, launchesLeft);
    }
    this.#lessons.learn(trial, outcome);
    const isLaterBaseline = trial.isBaseline && round > 0;
    if (isLaterBaseline && outcome.state !== 'measured') {
      // What it measured before stands: it was complete.
      const text = `the baseline failed in a later launch: ${failureText(outcome)}`;
      this.#deps.emit({ type: 'notice', text });
    } else this.#settle(trial, outcome);
    if (trial.isBaseline && round === 0 && outcome.state !== 'measured')
      throw baselineError(outcome);
    this.#failuresInARow = isEnvironment(outcome) ? this.#failuresInARow + 1 : 0;
    if (this.#failuresInARow < BROKEN_AFTER_FAILURES) return undefined;
    return { state: 'broken-environment', reason: failureText(outcome) };
  }

  async #launch(trial: StoredTrial, round: number, launchesLeft: number): Promise<LaunchOutcome> {
    this.#signal.throwIfAborted();
    const { builder, emit, checkBaseline, budget, clock } = this.#deps;
    this.#launches += 1;
    const { request, shown } = builder.build(trial, this.#launches);
    emit({
      type: 'launch-started',
      trial: trial.number,
      assignment: trial.assignment,
      isBaseline: trial.isBaseline,
      round: this.#earlierRounds(trial, round),
      launch: this.#launches,
      launchesLeft,
    });
    const startedAtMs = clock.nowMs();
    const first = trial.isBaseline && round === 0;
    const outcome = await runLaunch(
      {
        trial,
        round,
        keys: this.#missing(trial, round),
        request,
        shown,
        onReady: (facts, server) => this.#readBack(trial, facts, server),
        baselineAt: (concurrency) => this.#baselineAt(concurrency),
        baselineStartSeconds: trial.isBaseline ? undefined : this.#baselineStartSeconds(),
        ...(first && checkBaseline !== undefined ? { beforeMeasuring: checkBaseline } : {}),
      },
      this.#deps,
      this.#signal,
    );
    budget.launchTook((clock.nowMs() - startedAtMs) / 1000);
    return outcome;
  }

  /** What the server runs; tells of every asked value that did not take effect. */
  #readBack(trial: StoredTrial, facts: ServerFacts, server: RunningServer): EffectiveConfiguration {
    const { builder, emit } = this.#deps;
    const effective = builder.effective(trial, facts, server);
    for (const [name, { asked, effective: runs, took }] of Object.entries(effective.values)) {
      if (took !== 'no' || runs === undefined) continue;
      emit({ type: 'no-effect', trial: trial.number, parameter: name, asked, effective: runs });
    }
    return effective;
  }

  /** Writes down what the launch says about its trial. */
  #settle(trial: StoredTrial, outcome: LaunchOutcome): void {
    const { store, emit } = this.#deps;
    const verdict = verdictOf(outcome);
    store.setTrialState(trial.id, verdict.state, verdict.cause, verdict.reason);
    emit({ type: 'trial-ended', trial: trial.number, ...verdict });
  }

  /** Whether the trial is expected to fail like others did; then it is skipped for good. */
  #isHopeless(trial: StoredTrial): boolean {
    if (trial.isBaseline) return false;
    const inferred = this.#lessons.expectedFailure(trial);
    if (inferred === undefined) return false;
    const reason = this.#lessons.skip(trial, inferred);
    const { emit } = this.#deps;
    const verdict = { state: 'skipped', cause: inferred.code, reason } as const;
    emit({ type: 'trial-ended', trial: trial.number, ...verdict });
    return true;
  }

  /** Launches of this trial that were measured before. */
  #earlierRounds(trial: StoredTrial, round: number): number {
    const keys = this.#deps.store.measuredKeys(trial.id);
    return new Set(keys.map((key) => key.round).filter((one) => one < round)).size;
  }

  #isOver(trial: StoredTrial, round: number): boolean {
    const { state } = this.#current(trial);
    if (state === 'infeasible' || state === 'partial' || state === 'skipped') return true;
    return this.#missing(trial, round).length === 0;
  }

  /** As stored now: an earlier round may have ended it. */
  #current(trial: StoredTrial): StoredTrial {
    const { store, stored } = this.#deps;
    return store.trials(stored.id).find(({ id }) => id === trial.id) ?? trial;
  }

  #missing(trial: StoredTrial, round: number): readonly MeasurementKey[] {
    const { study, store } = this.#deps;
    const wanted = keysOfRound(round, [...study.profile.keys()], study.measure.repeats);
    return missingKeys(wanted, store.measuredKeys(trial.id));
  }

  /** Launches of the plan as known now, the one to come included; confirming ones at most. */
  #launchesLeft(round: number): number {
    const { study, trials } = this.#deps;
    const { finalists, launches } = study.measure;
    if (isConfirmingRound(round)) {
      const rounds = launches - 1 - (round - FIRST_CONFIRMING_ROUND);
      return Math.max(1, rounds * (finalists + 1));
    }
    const waiting = trials.filter((trial) => !this.#isOver(trial, FIRST_SEARCH_ROUND)).length;
    const others = Math.min(finalists, trials.length - 1);
    const confirming = others === 0 ? 0 : (others + 1) * (launches - 1);
    return Math.max(1, waiting + Math.floor(waiting / BASELINE_EVERY)) + confirming;
  }

  #baselineStartSeconds(): number | undefined {
    const { store, stored, trials } = this.#deps;
    const seconds = store
      .launches(stored.id)
      .filter(({ trialId }) => trialId === trials[0]?.id)
      .flatMap(({ readySeconds }) => readySeconds ?? []);
    return seconds.length === 0 ? undefined : Math.max(...seconds);
  }

  #baselineAt(concurrency: number): number | null {
    const { store, stored } = this.#deps;
    const baseline = store.trialData(stored.id).find((trial) => trial.isBaseline);
    const samples = baseline?.cells.get(concurrency) ?? [];
    return mean(samples.map((sample) => sample.outputTokensPerSecond)) ?? null;
  }
}

function tryOf({ id }: StoredTrial, round: number): string {
  return `${String(id)}/${String(round)}`;
}
