import type { Study } from '../config/study.ts';
import { EndOfSweepError, UserError } from '../errors.ts';
import { mean } from '../metrics/statistics.ts';
import { isConfirmingRound } from '../ranking/phases.ts';
import type { RunningServer } from '../server/target.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { FailureCause } from '../sglang/failure-causes.ts';
import { type Misprediction, mispredictionText } from '../sglang/reported-configuration.ts';
import type { MeasurementKey, StoredStudy, StoredTrial } from '../storage/study-store.ts';
import { FIRST_SEARCH_ROUND } from './baseline-rounds.ts';
import type { Budget } from './budget.ts';
import { Equivalents } from './equivalents.ts';
import { keepVersion } from './identity.ts';
import { keysOfRound, missingKeys } from './keys.ts';
import { Lessons } from './lessons.ts';
import { raceLostBy } from './race-watch.ts';
import { type ReadBack, readBack } from './read-back.ts';
import { type LaunchDeps, type LaunchJob, type LaunchOutcome, runLaunch } from './run-launch.ts';
import type { ServerFacts } from './services.ts';
import { baselineError, failureText, isEnvironment, mayBeChance, verdictOf } from './verdict.ts';

/** Launches given to one round of a trial while the environment, not the flags, is at fault. */
const ATTEMPTS_PER_ROUND = 2;

/** Environment failures in a row, over trials, that end the sweep: the rest would fail too. */
const BROKEN_AFTER_FAILURES = 3;

/** How a trial's assignment becomes a launch. */
export interface LaunchBuilder {
  build(
    trial: StoredTrial,
    launchNumber: number,
  ): Pick<LaunchJob, 'request' | 'shown' | 'stranger'>;
  /** Compares what was asked with what the server runs; returns what is stored. */
  effective(trial: StoredTrial, facts: ServerFacts, server: RunningServer): EffectiveConfiguration;
  /** What the server made of the trial's parameters otherwise than predicted. */
  mispredictions?(trial: StoredTrial, facts: ServerFacts): readonly Misprediction[];
}

export interface LauncherDeps extends LaunchDeps {
  readonly study: Study;
  readonly stored: StoredStudy;
  /** What this plan launches, the baseline first. */
  readonly trials: readonly StoredTrial[];
  readonly builder: LaunchBuilder;
  readonly budget: Budget;
  /** Compares the first baseline launch with recorded numbers; throws UserError on a mismatch. */
  readonly checkBaseline?: (facts: ServerFacts, signal: AbortSignal) => Promise<void>;
}

function surroundingFailure({ message, cause }: UserError): FailureCause {
  const because = cause instanceof Error ? `: ${cause.message}` : '';
  const text = message + because;
  return { code: 'error', kind: 'environment', message: text, stage: 'silent', directions: [] };
}

/**
 * Launches trials one at a time: with the measurements that are missing, again where the machine
 * and not the flags was at fault, and writes down what each launch says about its trial.
 */
export class TrialLauncher {
  readonly #deps: LauncherDeps;
  readonly #signal: AbortSignal;
  readonly #lessons: Lessons;
  readonly #equivalents: Equivalents;
  #launches = 0;
  #failuresInARow = 0;

  constructor(deps: LauncherDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#lessons = new Lessons(deps.store, deps.stored.id);
    this.#equivalents = new Equivalents(deps.store, deps.stored.id);
  }

  /**
   * Launches a round of a trial. Defined, with the reason, when the machine failed so often in a
   * row that every further launch would fail too. Throws UserError when the baseline's first
   * launch cannot be measured.
   */
  async measureTrial(
    trial: StoredTrial,
    round: number,
    launchesLeft: number,
  ): Promise<string | undefined> {
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
    return this.#failuresInARow < BROKEN_AFTER_FAILURES ? undefined : failureText(outcome);
  }

  /**
   * What fails around a server (a port that somebody took, a log folder that is gone) costs this
   * trial, not the sweep; a baseline that never ran, or what no later launch can mend, ends it.
   */
  async #launch(trial: StoredTrial, round: number, launchesLeft: number): Promise<LaunchOutcome> {
    const startedAtMs = this.#deps.clock.nowMs();
    try {
      return await this.#launchOnce(trial, round, launchesLeft);
    } catch (error) {
      this.#signal.throwIfAborted();
      const isFirst = trial.isBaseline && round === 0;
      if (isFirst || !(error instanceof UserError) || error instanceof EndOfSweepError) throw error;
      return { state: 'failed', failure: surroundingFailure(error) };
    } finally {
      this.#deps.budget.launchTook((this.#deps.clock.nowMs() - startedAtMs) / 1000);
    }
  }

  async #launchOnce(
    trial: StoredTrial,
    round: number,
    launchesLeft: number,
  ): Promise<LaunchOutcome> {
    this.#signal.throwIfAborted();
    const { builder, emit, checkBaseline } = this.#deps;
    this.#launches += 1;
    const { request, shown, stranger } = builder.build(trial, this.#launches);
    emit({
      type: 'launch-started',
      trial: trial.number,
      assignment: trial.assignment,
      isBaseline: trial.isBaseline,
      round: this.#earlierRounds(trial, round),
      launch: this.#launches,
      launchesLeft,
    });
    const first = trial.isBaseline && round === 0;
    return runLaunch(
      {
        trial,
        round,
        keys: this.#missing(trial, round),
        request,
        shown,
        ...(stranger === undefined ? {} : { stranger }),
        onReady: (facts, server) => this.#readBack(trial, facts, server),
        baselineAt: (concurrency) => this.#baselineAt(concurrency),
        baselineStartSeconds: trial.isBaseline ? undefined : this.#baselineStartSeconds(),
        ...(this.#races(trial, round) ? { lostRace: () => this.#raceLostBy(trial) } : {}),
        ...(first && checkBaseline !== undefined ? { beforeMeasuring: checkBaseline } : {}),
      },
      this.#deps,
      this.#signal,
    );
  }

  /** Confirming launches are few and each is needed whole. */
  #races(trial: StoredTrial, round: number): boolean {
    const { measure } = this.#deps.study;
    return measure.dropLosers && !trial.isBaseline && !isConfirmingRound(round);
  }

  #raceLostBy({ number }: StoredTrial): string | undefined {
    const { store, stored, study } = this.#deps;
    return raceLostBy(number, store.trialData(stored.id), study);
  }

  /** What the server runs, and whether it is worth a measurement; tells of what is otherwise than asked. */
  #readBack(
    trial: StoredTrial,
    facts: ServerFacts,
    server: RunningServer,
  ): { readonly effective: EffectiveConfiguration; readonly report: ReadBack } {
    const { builder, emit, trials } = this.#deps;
    this.#requireVersion(facts);
    const effective = builder.effective(trial, facts, server);
    for (const [name, { asked, effective: runs, took }] of Object.entries(effective.values)) {
      if (took !== 'no' || runs === undefined) continue;
      emit({ type: 'no-effect', trial: trial.number, parameter: name, asked, effective: runs });
    }
    this.#releaseMispredicted(trial, builder.mispredictions?.(trial, facts) ?? []);
    const baseline = trials.find(({ isBaseline }) => isBaseline);
    if (trial.isBaseline || baseline === undefined) {
      return { effective, report: { state: 'wanted' } };
    }
    const isMeasured = this.#deps.store.measuredKeys(trial.id).length > 0;
    const others = isMeasured ? [] : this.#equivalents.measured(trial);
    const report = readBack(trial.assignment, baseline.assignment, effective, others);
    if (report.state === 'wanted') this.#equivalents.adopt(trial, effective.key);
    return { effective, report };
  }

  /** Plans trials again that a wrong prediction laid to this one. */
  #releaseMispredicted(trial: StoredTrial, found: readonly Misprediction[]): void {
    if (found.length === 0) return;
    const released = this.#equivalents.release(
      trial,
      found.map(({ flag }) => flag),
    );
    if (released.length === 0) return;
    const numbers = released.map(({ number }) => String(number)).join(', ');
    this.#deps.emit({
      type: 'notice',
      text: `trial ${String(trial.number)} runs ${mispredictionText(found)}: trials taken for the same server are launched on their own: ${numbers}`,
    });
  }

  /** Trials that were planned as equivalent and turned out not to be. */
  released(): readonly StoredTrial[] {
    return this.#equivalents.released();
  }

  /**
   * Learns the version from the first server that tells it; another one later ends the sweep, since
   * rows of two versions are never ranked together.
   */
  #requireVersion({ version }: ServerFacts): void {
    const { store, stored } = this.#deps;
    if (version !== null) keepVersion(store, stored.name, version);
  }

  /** Writes down what the launch says about its trial. */
  #settle(trial: StoredTrial, outcome: LaunchOutcome): void {
    const { store, emit } = this.#deps;
    const verdict = verdictOf(outcome);
    store.setTrialState(trial.id, verdict.state, verdict.cause, verdict.reason);
    emit({ type: 'trial-ended', trial: trial.number, ...verdict });
  }

  /**
   * Settles the trials that are measured, but whose end was never written down: their tuner was
   * killed while it stopped the server. Nothing launches them again, so nothing else would.
   */
  settleMeasured(): void {
    const { store, stored } = this.#deps;
    const data = new Map(store.trialData(stored.id).map((one) => [one.trial, one]));
    for (const trial of store.trials(stored.id)) {
      if (trial.state !== 'planned' || this.#missing(trial, FIRST_SEARCH_ROUND).length > 0)
        continue;
      const cells = [...(data.get(trial.number)?.cells ?? [])];
      const cut = cells.find(([, samples]) =>
        samples.some((one) => one.barredBy.includes('partial')),
      );
      this.#settle(
        trial,
        cut === undefined
          ? { state: 'measured' }
          : { state: 'limit', concurrency: cut[0], why: 'interrupted', measurementKept: true },
      );
    }
  }

  /** Whether the trial is expected to fail like others did; then it is skipped for good. */
  isHopeless(trial: StoredTrial): boolean {
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

  /**
   * Whether nothing more is to be launched of a round: it is measured, or the trial has ended.
   *
   * @param now the trial as stored now; reading it costs as much as reading all trials.
   */
  isOver(trial: StoredTrial, round: number, now: StoredTrial = this.current(trial)): boolean {
    const { state } = now;
    if (state === 'infeasible' || state === 'partial' || state === 'skipped') return true;
    return this.#missing(trial, round).length === 0;
  }

  /** As stored now: an earlier round may have ended it. */
  current(trial: StoredTrial): StoredTrial {
    return this.#deps.store.trial(trial.id) ?? trial;
  }

  #missing(trial: StoredTrial, round: number): readonly MeasurementKey[] {
    const { study, store } = this.#deps;
    const wanted = keysOfRound(round, [...study.profile.keys()], study.measure.repeats);
    return missingKeys(wanted, store.measuredKeys(trial.id));
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
