import type { Clock } from '../clock.ts';
import type { StartConfig } from '../config/study.ts';
import { EndOfSweepError, UserError } from '../errors.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import { COULD_NOT_WIN } from '../ranking/race.ts';
import { type NotReadyReason, waitUntilReady } from '../server/readiness.ts';
import type {
  LaunchRequest,
  RunningServer,
  ServerExit,
  StopProof,
  Target,
} from '../server/target.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { FailureCause } from '../sglang/failure-causes.ts';
import { startupProgress } from '../sglang/startup-stage.ts';
import type { MeasurementKey, StoredTrial, StudyStore } from '../storage/study-store.ts';
import type { StudyEvent } from './events.ts';
import { deathOf, environmentFailure, failureOf, LOG_SEARCH_LINES } from './launch-failure.ts';
import { type MeasuringOutcome, measureLaunch } from './measure-launch.ts';
import type { ReadBack } from './read-back.ts';
import type { Measurer, ServerFacts, ServerProbe } from './services.ts';
import { startLimits } from './start-limits.ts';
import { verdictOf } from './verdict.ts';

/** How many lines of the log are kept with a failure. */
const LOG_TAIL_LINES = 60;

/**
 * How a launch ended, as far as its trial is concerned.
 *
 * `crashed` and `limit` name the concurrency: what was measured below it stays valid, and nothing
 * above it is tried. `disturbed`: the server is well, but others used it. `not-ready` means that
 * no measurement was possible.
 */
export type LaunchOutcome =
  /** Something around the server failed: no log folder, a port that somebody took. */
  | { readonly state: 'failed'; readonly failure: FailureCause }
  | MeasuringOutcome
  | {
      readonly state: 'not-ready';
      readonly why: NotReadyReason;
      readonly failure: FailureCause;
    }
  | SettledOutcome;

/**
 * The server is ready, and its own report settles the trial without a measurement: it runs what
 * another trial ran, or not what was to be tried.
 */
export interface SettledOutcome {
  readonly state: 'settled';
  readonly report: Exclude<ReadBack, { readonly state: 'wanted' }>;
}

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
  /** Called once the server is ready; the configuration it returns is stored with the launch. */
  readonly onReady: (
    facts: ServerFacts,
    server: RunningServer,
  ) => { readonly effective: EffectiveConfiguration; readonly report: ReadBack };
  /** Why the server that answers is not the launched one; undefined when it is, or may be. */
  readonly stranger?: (facts: ServerFacts) => string | undefined;
  /** Longest start of the baseline so far, seconds; absent for the baseline itself. */
  readonly baselineStartSeconds?: number | undefined;
  /** Baseline mean at a concurrency, to show a change while measuring. */
  readonly baselineAt: (concurrency: number) => number | null;
  /** Asked between two measurements: why the rest need not be measured; undefined: go on. */
  readonly lostRace?: () => string | undefined;
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
export class StopFailedError extends EndOfSweepError {
  readonly survivors: readonly string[];

  constructor(survivors: readonly string[]) {
    super(`the server could not be stopped: ${survivors.join(', ')} left`, {
      hint: 'they hold the port or the GPU; end them, then the same command goes on',
    });
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
  const stop = await stopped(server);
  try {
    endLaunch(deps, launchId, server, outcome, signal.aborted ? 'interrupted' : problem);
  } catch (error) {
    // A store that is full fails here again; what failed first says more.
    problem ??= error;
  }
  if (problem instanceof EndOfSweepError) throw problem;
  if (stop instanceof Error) throw stop;
  if (stop !== undefined && !stop.clean) throw new StopFailedError(stop.survivors);
  if (problem !== undefined || outcome === undefined) throw problem;
  return outcome;
}

/** Over a broken link even a stop can throw: the launch's record must not be lost with it. */
async function stopped(server: RunningServer | undefined): Promise<StopProof | Error | undefined> {
  try {
    return await server?.stop();
  } catch (error) {
    if (error instanceof EndOfSweepError || !(error instanceof UserError)) {
      return error instanceof Error ? error : new Error(String(error));
    }
    return new EndOfSweepError(`the server could not be stopped: ${error.message}`, {
      hint: error.hint,
      cause: error.cause,
    });
  }
}

async function useServer(
  server: RunningServer,
  launchId: number,
  job: LaunchJob,
  deps: LaunchDeps,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const { probe, clock, start, emit, store } = deps;
  const progress = () => startupProgress(server.logTail(LOG_SEARCH_LINES));
  const readiness = await waitUntilReady({
    server,
    probe: (probeSignal) => probe.complete(probeSignal),
    limits: startLimits(start, job.baselineStartSeconds),
    clock,
    signal,
    progress: () => JSON.stringify(progress()),
    onProgress: () => {
      emit({ type: 'stage', trial: job.trial.number, progress: progress() });
    },
  });
  if (readiness.state === 'not-ready') {
    const failure = failureOf(server, 'start', readiness.why);
    return { state: 'not-ready', why: readiness.why, failure };
  }
  // From here on: a restart while its facts are read is one too.
  const identity = server.servingIdentity?.();
  const facts = await factsOf(probe, signal);
  if (facts === undefined) {
    // It answered a completion a moment ago: it died of that, or dies now (field report B9).
    await deathOf(server, undefined, clock);
    const why = server.exit() === undefined ? 'completion-failed' : 'exited';
    return { state: 'not-ready', why, failure: failureOf(server, 'start', why) };
  }
  const stranger = job.stranger?.(facts);
  if (stranger !== undefined) {
    const failure = environmentFailure(server, 'foreign-server', stranger);
    return { state: 'not-ready', why: 'foreign-server', failure };
  }
  emit({ type: 'ready', trial: job.trial.number, seconds: readiness.seconds * facts.timeScale });
  const { effective, report } = job.onReady(facts, server);
  store.launchReady(launchId, {
    readySeconds: readiness.seconds * facts.timeScale,
    effective: { ...effective },
    sglangVersion: facts.version,
  });
  if (report.state !== 'wanted') return { state: 'settled', report };
  await job.beforeMeasuring?.(facts, signal);
  return measureLaunch({ server, facts, effective, launchId, identity, job, deps, signal });
}

/** Undefined when the server does not answer. */
async function factsOf(probe: ServerProbe, signal: AbortSignal): Promise<ServerFacts | undefined> {
  try {
    return await probe.facts(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isNetworkFailure(error)) return undefined;
    throw error;
  }
}

function endLaunch(
  { store, clock }: LaunchDeps,
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
    logTail:
      outcome?.state === 'measured' || outcome?.state === 'dropped'
        ? []
        : (server?.logTail(LOG_TAIL_LINES) ?? []),
    endedAtMs: clock.wallMs(),
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
    case 'dropped':
      return { state: 'completed', cause: COULD_NOT_WIN, message: outcome.reason } as const;
    case 'settled': {
      const { cause, reason: message } = verdictOf(outcome);
      return { state: 'completed', cause, message } as const;
    }
    case 'failed':
      return {
        state: 'failed',
        cause: outcome.failure.code,
        message: outcome.failure.message,
      } as const;
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
    case 'disturbed':
      return {
        state: 'failed',
        cause: outcome.failure.code,
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
