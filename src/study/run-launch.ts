import type { Clock } from '../clock.ts';
import type { StartConfig } from '../config/study.ts';
import type { LaunchRequest, RunningServer, ServerExit, Target } from '../server/target.ts';
import { waitUntilReady } from '../server/readiness.ts';
import { classifyFailure, type FailureCause } from '../sglang/failure-causes.ts';
import { startupStage } from '../sglang/log-lines.ts';
import type { MeasurementKey, StoredTrial, StudyStore } from '../storage/study-store.ts';
import type { StudyEvent } from './events.ts';
import type { Measurer, PointResult, ServerFacts, ServerProbe } from './services.ts';

/** How many lines of the log are kept with a failure. */
const LOG_TAIL_LINES = 60;

/**
 * How a launch ended, as far as its trial is concerned.
 *
 * `crashed` and `limit` name the concurrency: what was measured below it stays valid, and nothing
 * above it is tried. `not-ready` means that no measurement was possible.
 */
export type LaunchOutcome =
  | { readonly state: 'measured' }
  | { readonly state: 'not-ready'; readonly failure: FailureCause }
  | { readonly state: 'crashed'; readonly concurrency: number; readonly failure: FailureCause }
  | {
      readonly state: 'limit';
      readonly concurrency: number;
      readonly why: PointResult['why'];
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
  /** Called once the server is ready; may return marks that bar the trial's values. */
  readonly onReady: (facts: ServerFacts, server: RunningServer) => Readonly<Record<string, unknown>> | null;
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
      const stage = startupStage(server.logTail(LOG_TAIL_LINES));
      if (stage !== undefined) emit({ type: 'stage', trial: job.trial.number, stage });
    },
  });
  if (readiness.state === 'not-ready') {
    const failure = failureOf(server, 'start', readiness.why);
    return { state: 'not-ready', failure };
  }
  const facts = await probe.facts(signal);
  emit({ type: 'ready', trial: job.trial.number, seconds: readiness.seconds * facts.timeScale });
  store.launchReady(launchId, {
    readySeconds: readiness.seconds * facts.timeScale,
    effective: job.onReady(facts, server),
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
    if (server.exit() !== undefined) {
      const failure = failureOf(server, 'serving');
      return { state: 'crashed', concurrency: key.concurrency, failure };
    }
    if (point === undefined) throw new Error('a point was given up although its server runs');
    const kept = point.metrics.completed > 0 && point.metrics.outputTokensPerSecond > 0;
    if (kept) commit(point, key, launchId, job, deps);
    if (!point.usable) {
      return {
        state: 'limit',
        concurrency: key.concurrency,
        why: point.why,
        measurementKept: kept,
      };
    }
  }
  return { state: 'measured' };
}

/** Undefined when the point was given up because its signal was aborted. */
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
    if (signal.aborted) return undefined;
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
  why?: 'exited' | 'stalled' | 'total-limit' | 'completion-failed',
): FailureCause {
  const timedOut =
    why === 'stalled' ? ('stall' as const) : why === 'total-limit' ? ('total' as const) : undefined;
  return classifyFailure({
    phase,
    exit: server.exit() ?? null,
    logLines: server.logTail(LOG_TAIL_LINES),
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
        cause: outcome.failure.cause,
        message: outcome.failure.message,
      } as const;
    case 'crashed':
      return {
        state: 'crashed',
        cause: outcome.failure.cause,
        message: `at ${String(outcome.concurrency)} in flight: ${outcome.failure.message}`,
      } as const;
    case 'limit':
      return {
        state: 'failed',
        cause: outcome.why,
        message: `measurement at ${String(outcome.concurrency)} in flight ended early`,
      } as const;
  }
}
