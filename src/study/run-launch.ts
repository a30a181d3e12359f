import type { Clock } from '../clock.ts';
import type { StartConfig } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { type NotReadyReason, waitUntilReady } from '../server/readiness.ts';
import type { LaunchRequest, RunningServer, ServerExit, Target } from '../server/target.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import { classifyFailure, type FailureCause } from '../sglang/failure-causes.ts';
import { startupProgress } from '../sglang/startup-stage.ts';
import type { MeasurementKey, StoredTrial, StudyStore } from '../storage/study-store.ts';
import type { StudyEvent } from './events.ts';
import type { Measurer, PointResult, ServerFacts, ServerProbe } from './services.ts';

/** SGLang takes 5.8 s from the death of its scheduler to its own (seen in 0.5.23). */
const DEATH_WAIT_MS = 8000;
const DEATH_POLL_MS = 500;

/** What the classifier says when the log tells of no death. */
const UNTOLD_CAUSES: ReadonlySet<string> = new Set(['not-ready', 'serving-hang']);

/** How many lines of the log are kept with a failure. */
const LOG_TAIL_LINES = 60;

/** Lines in which the cause of a failure and the stage of a start are looked for. */
const LOG_SEARCH_LINES = 400;

/**
 * How a launch ended, as far as its trial is concerned.
 *
 * `crashed` and `limit` name the concurrency: what was measured below it stays valid, and nothing
 * above it is tried. `not-ready` means that no measurement was possible.
 */
export type LaunchOutcome =
  | { readonly state: 'measured' }
  | {
      readonly state: 'not-ready';
      readonly why: NotReadyReason;
      readonly failure: FailureCause;
    }
  | { readonly state: 'crashed'; readonly concurrency: number; readonly failure: FailureCause }
  | {
      readonly state: 'limit';
      readonly concurrency: number;
      readonly why: PointResult['why'] | 'unreachable';
      readonly measurementKept: boolean;
    };

/** Everything one launch needs; `keys` are the measurements still missing, in order. */
export interface LaunchJob {
  readonly trial: StoredTrial;
  readonly round: number;
  readonly keys: readonly MeasurementKey[];
  readonly request: LaunchRequest;
  /** argv and environment without secrets, as stored. */
  readonly shown: {
    readonly argv: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
  /** Called once the server is ready; what it returns is stored with the launch. */
  readonly onReady: (facts: ServerFacts, server: RunningServer) => EffectiveConfiguration;
  /** Baseline mean at a concurrency, to show a change while measuring. */
  readonly baselineAt: (concurrency: number) => number | null;
  /** Runs between ready and the first measurement, e.g. to compare with recorded numbers. */
  readonly beforeMeasuring?: (facts: ServerFacts, signal: AbortSignal) => Promise<void>;
}

export interface LaunchDeps {
  readonly target: Target;
  readonly probe: ServerProbe;
  readonly measurer: Measurer;
  readonly store: StudyStore;
  readonly clock: Clock;
  readonly start: StartConfig;
  readonly emit: (event: StudyEvent) => void;
}

/** A server that cannot be stopped ends the sweep: every later launch would fail on it. */
export class StopFailedError extends Error {
  readonly survivors: readonly string[];

  constructor(survivors: readonly string[]) {
    super(`the server could not be stopped: ${survivors.join(', ')} left`);
    this.name = 'StopFailedError';
    this.survivors = survivors;
  }
}

/**
 * Starts the server, waits for a real completion, measures every key in order, stops the server
 * and proves that it is gone. Each measurement is committed as it ends.
 *
 * The server is stopped however this returns. Throws StopFailedError when it is not gone after
 * that, and the signal's reason when interrupted.
 */
export async function runLaunch(
  job: LaunchJob,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const { store, clock, target } = deps;
  const launchId = store.startLaunch({
    trialId: job.trial.id,
    startedAtMs: clock.wallMs(),
    argv: job.shown.argv,
    environment: job.shown.environment,
    logPath: job.request.logPath,
  });
  let server: RunningServer | undefined;
  let outcome: LaunchOutcome | undefined;
  let problem: unknown;
  try {
    server = await target.start(job.request);
    outcome = await useServer(server, launchId, job, deps, signal);
  } catch (error) {
    problem = error;
  }
  const proof = await server?.stop();
  endLaunch(store, launchId, server, outcome, signal.aborted ? 'interrupted' : problem);
  if (proof !== undefined && !proof.clean) throw new StopFailedError(proof.survivors);
  if (outcome === undefined) throw problem;
  return outcome;
}

async function useServer(
  server: RunningServer,
  launchId: number,
  job: LaunchJob,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const { probe, clock, start, emit, store } = deps;
  const readiness = await waitUntilReady({
    server,
    probe: (probeSignal) => probe.complete(probeSignal),
    limits: start,
    clock,
    signal,
    onProgress: () => {
      const progress = startupProgress(server.logTail(LOG_SEARCH_LINES));
      emit({ type: 'stage', trial: job.trial.number, progress });
    },
  });
  if (readiness.state === 'not-ready') {
    const failure = failureOf(server, 'start', readiness.why);
    return { state: 'not-ready', why: readiness.why, failure };
  }
  const facts = await probe.facts(signal);
  emit({ type: 'ready', trial: job.trial.number, seconds: readiness.seconds * facts.timeScale });
  store.launchReady(launchId, {
    readySeconds: readiness.seconds * facts.timeScale,
    effective: { ...job.onReady(facts, server) },
    sglangVersion: facts.version,
  });
  await job.beforeMeasuring?.(facts, signal);
  return measureAll(server, facts, launchId, job, deps, signal);
}

/** Measures every key; a server that ends by itself ends the current point at once. */
async function measureAll(
  server: RunningServer,
  facts: ServerFacts,
  launchId: number,
  job: LaunchJob,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const serverGone = new AbortController();
  void server.exited.then(() => {
    serverGone.abort(new Error('the server ended'));
  });
  const either = AbortSignal.any([signal, serverGone.signal]);
  for (const key of job.keys) {
    const point = await measurePoint(key, facts, job, deps, either);
    signal.throwIfAborted();
    if (point === undefined || !point.usable) {
      const failure = await deathOf(server, point?.why, deps.clock);
      if (failure !== undefined) return { state: 'crashed', concurrency: key.concurrency, failure };
    }
    const kept = point !== undefined && isMeasurement(point);
    if (kept) commit(point, key, launchId, job, deps);
    if (point?.usable !== true) {
      const why = point?.why ?? 'unreachable';
      return { state: 'limit', concurrency: key.concurrency, why, measurementKept: kept };
    }
  }
  return { state: 'measured' };
}

/** Zero tokens are no measurement, whatever the reason (field report D16). */
function isMeasurement({ metrics }: PointResult): boolean {
  return metrics.completed > 0 && metrics.outputTokensPerSecond > 0;
}

/**
 * Whether the server died under a point that failed, and of what. Its clients see a crash seconds
 * before the process ends, and the log may tell of it while the process lives on (field report A7).
 */
async function deathOf(
  server: RunningServer,
  why: PointResult['why'] | undefined,
  clock: Clock,
): Promise<FailureCause | undefined> {
  const deadlineMs = clock.nowMs() + DEATH_WAIT_MS;
  for (;;) {
    if (server.exit() !== undefined) return failureOf(server, 'serving');
    if (clock.nowMs() >= deadlineMs) break;
    await Promise.race([server.exited, clock.sleep(DEATH_POLL_MS)]);
  }
  const failure = failureOf(server, 'serving', why === 'stalled' ? 'stalled' : undefined);
  return UNTOLD_CAUSES.has(failure.code) ? undefined : failure;
}

/** Undefined when the server could not be reached, or the signal was aborted. */
async function measurePoint(
  key: MeasurementKey,
  facts: ServerFacts,
  job: LaunchJob,
  { measurer, emit }: LaunchDeps,
  signal: AbortSignal,
): Promise<PointResult | undefined> {
  const { concurrency, repeat, round } = key;
  const trial = job.trial.number;
  try {
    return await measurer.measure({
      facts,
      concurrency,
      repeat,
      round,
      signal,
      onPhase: (phase) => {
        emit({ type: 'measuring', trial, concurrency, repeat, phase });
      },
      onProgress: (progress) => {
        emit({ type: 'load', trial, concurrency, progress });
      },
    });
  } catch (error) {
    // UserError: nothing accepts a connection any more.
    if (signal.aborted || error instanceof UserError) return undefined;
    throw error;
  }
}

function commit(
  point: PointResult,
  { concurrency, repeat, round }: MeasurementKey,
  launchId: number,
  job: LaunchJob,
  { store, clock, emit }: LaunchDeps,
): void {
  const { metrics, records, conditions } = point;
  store.addMeasurement({
    launchId,
    trialId: job.trial.id,
    round,
    concurrency,
    repeat,
    startedAtMs: clock.wallMs() - metrics.durationSeconds * 1000,
    metrics,
    records,
    conditions,
  });
  const baseline = job.trial.isBaseline ? null : job.baselineAt(concurrency);
  emit({
    type: 'measured',
    trial: job.trial.number,
    isBaseline: job.trial.isBaseline,
    concurrency,
    repeat,
    metrics,
    changeFraction: baseline === null ? null : metrics.outputTokensPerSecond / baseline - 1,
  });
}

function failureOf(
  server: RunningServer,
  phase: 'start' | 'serving',
  why?: NotReadyReason,
): FailureCause {
  const timedOut =
    why === 'stalled' ? ('stall' as const) : why === 'total-limit' ? ('total' as const) : undefined;
  return classifyFailure({
    phase,
    exit: server.exit() ?? null,
    logLines: server.logTail(LOG_SEARCH_LINES),
    ...(timedOut === undefined ? {} : { timedOut }),
  });
}

function endLaunch(
  store: StudyStore,
  launchId: number,
  server: RunningServer | undefined,
  outcome: LaunchOutcome | undefined,
  problem: unknown,
): void {
  const exit: ServerExit | undefined = server?.exit();
  store.endLaunch(launchId, {
    ...stateOf(outcome, problem),
    exitCode: exit?.code ?? null,
    exitSignal: exit?.signal ?? null,
    logTail: outcome?.state === 'measured' ? [] : (server?.logTail(LOG_TAIL_LINES) ?? []),
  });
}

function stateOf(outcome: LaunchOutcome | undefined, problem: unknown) {
  if (problem === 'interrupted') {
    return { state: 'interrupted', cause: null, message: null } as const;
  }
  if (outcome === undefined) {
    const message = problem instanceof Error ? problem.message : String(problem);
    return { state: 'failed', cause: 'error', message } as const;
  }
  switch (outcome.state) {
    case 'measured':
      return { state: 'completed', cause: null, message: null } as const;
    case 'not-ready':
      return {
        state: 'not-ready',
        cause: outcome.failure.code,
        message: outcome.failure.message,
      } as const;
    case 'crashed':
      return {
        state: 'crashed',
        cause: outcome.failure.code,
        message: `at ${String(outcome.concurrency)} in flight: ${outcome.failure.message}`,
        crashedAtConcurrency: outcome.concurrency,
      } as const;
    case 'limit':
      return {
        state: 'failed',
        cause: outcome.why,
        message: `measurement at ${String(outcome.concurrency)} in flight ended early`,
      } as const;
  }
}
