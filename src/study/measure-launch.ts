import _ from 'lodash';
import type { Clock } from '../clock.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import { LoadHostError } from '../remote-load/load-host-error.ts';
import type { RunningServer } from '../server/target.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { FailureCause } from '../sglang/failure-causes.ts';
import type { MeasurementKey } from '../storage/study-store.ts';
import { DEATH_POLL_MS, deathOf, environmentFailure } from './launch-failure.ts';
import type { LaunchDeps, LaunchJob } from './run-launch.ts';
import { withServerMarks } from './server-marks.ts';
import type { PointResult, ServerFacts } from './services.ts';

/** How measuring a ready server ended; `LaunchOutcome` of run-launch.ts tells what each means. */
export type MeasuringOutcome =
  | { readonly state: 'measured' }
  /** It could not win any more: the rest was not measured. */
  | { readonly state: 'dropped'; readonly reason: string }
  | { readonly state: 'crashed'; readonly concurrency: number; readonly failure: FailureCause }
  | { readonly state: 'disturbed'; readonly concurrency: number; readonly failure: FailureCause }
  | {
      readonly state: 'limit';
      readonly concurrency: number;
      readonly why: PointResult['why'] | 'unreachable';
      readonly measurementKept: boolean;
    };

/** Times one measurement is taken while somebody else uses the server. */
const ATTEMPTS_PER_POINT = 3;

/** A server that was restarted loads its model first; longer than this is not waited for. */
const RESTART_WAIT_MS = 30_000;

/** A client that went away is noticed within 3 s (seen in 0.5.23). */
const IDLE_WAIT_MS = 5000;
const IDLE_POLL_MS = 500;

interface Launched {
  readonly server: RunningServer;
  readonly facts: ServerFacts;
  readonly effective: EffectiveConfiguration;
  readonly launchId: number;
  /** Which process served when the server was ready; undefined where the target cannot tell. */
  readonly identity: string | undefined;
  readonly job: LaunchJob;
  readonly deps: LaunchDeps;
  /** The sweep's own signal. */
  readonly signal: AbortSignal;
}

/** Measures every key of the job in order; a server that ends by itself ends the point at once. */
export async function measureLaunch(launched: Launched): Promise<MeasuringOutcome> {
  const { server, job, signal } = launched;
  const serverGone = new AbortController();
  void server.exited.then(() => {
    serverGone.abort(new Error('the server ended'));
  });
  const either = AbortSignal.any([signal, serverGone.signal]);
  for (const [index, key] of job.keys.entries()) {
    const end = await measureKey(key, launched, either);
    if (end !== undefined) return end;
    const reason = index + 1 < job.keys.length ? job.lostRace?.() : undefined;
    if (reason !== undefined) return { state: 'dropped', reason };
  }
  return { state: 'measured' };
}

/** Takes and stores one measurement; defined when the launch must end with it. */
async function measureKey(
  key: MeasurementKey,
  launched: Launched,
  either: AbortSignal,
): Promise<MeasuringOutcome | undefined> {
  const { server, job, deps } = launched;
  const { concurrency } = key;
  for (let attempt = 1; ; attempt += 1) {
    // Whoever was there a moment ago may still be: that costs no further measurement.
    const startedAtMs = deps.clock.wallMs();
    const early = attempt === 1 ? undefined : await clientsNow(launched, either);
    const point = early === undefined ? await measurePoint(key, launched, either) : undefined;
    launched.signal.throwIfAborted();
    const failure = early === undefined ? await failureDuring(point, launched) : undefined;
    if (failure !== undefined) return { state: 'crashed', concurrency, failure };
    const foreign =
      early ?? (point === undefined ? undefined : await foreignRequests(point, launched, either));
    if (foreign !== undefined) {
      const what = `other clients use the server: ${foreign}`;
      if (attempt === ATTEMPTS_PER_POINT) {
        const failure = environmentFailure(server, 'foreign-requests', what);
        return { state: 'disturbed', concurrency, failure };
      }
      const again = `trial ${String(job.trial.number)} at C=${String(concurrency)}: ${what}; measuring again`;
      deps.emit({ type: 'notice', text: again });
      continue;
    }
    const kept = point !== undefined && isMeasurement(point);
    if (kept) commit(point, startedAtMs, key, launched);
    if (point?.usable === true && kept) return undefined;
    const why = point?.usable === true ? 'failures' : (point?.why ?? 'unreachable');
    return { state: 'limit', concurrency, why, measurementKept: kept };
  }
}

/** What happened to the server during a point, if anything did. */
async function failureDuring(
  point: PointResult | undefined,
  launched: Launched,
): Promise<FailureCause | undefined> {
  const {
    server,
    identity,
    deps: { clock },
  } = launched;
  const isOther = () => identity !== undefined && server.servingIdentity?.() !== identity;
  if (point?.usable === true && !endedInFailure(point) && !isOther()) return undefined;
  const death = await deathOf(server, point?.why, clock);
  if (death !== undefined) return death;
  return isOther() && (await isServedAgain(launched))
    ? restarted(server, clock.nowMs())
    : undefined;
}

/**
 * Whether somebody listens on the port: one that is restarted is away for a while, and one that
 * closed its port for good is no restart.
 */
async function isServedAgain({ server, signal, deps: { clock } }: Launched): Promise<boolean> {
  const deadlineMs = clock.nowMs() + RESTART_WAIT_MS;
  for (;;) {
    if (server.servingIdentity?.() !== undefined) return true;
    if (signal.aborted || server.exit() !== undefined || clock.nowMs() >= deadlineMs) return false;
    await Promise.race([server.exited, clock.sleep(DEATH_POLL_MS)]);
  }
}

function restarted(server: RunningServer, nowMs: number): FailureCause {
  const upSeconds = Math.round((nowMs - server.startedAtMs) / 1000);
  const message = `another server process answers since a moment of this measurement (${String(upSeconds)} s after the start): it was restarted behind the sweep's back`;
  return { ...environmentFailure(server, 'restarted', message), kind: 'unknown' };
}

/**
 * Whether the last request to end failed: what a server that died leaves behind when so many
 * requests had been served that the run as a whole counts as completed (field report A9).
 */
function endedInFailure({ records }: PointResult): boolean {
  const last = _.maxBy(records, ({ endedAtMs }) => endedAtMs);
  return last?.outcome === 'failed';
}

/** Zero tokens are no measurement, whatever the reason (field report D16). */
function isMeasurement({ metrics }: PointResult): boolean {
  return metrics.completed > 0 && metrics.outputTokensPerSecond > 0;
}

/** What shows that the server answered others during a point; undefined when nothing does. */
async function foreignRequests(
  { metrics, usable }: PointResult,
  launched: Launched,
  signal: AbortSignal,
): Promise<string | undefined> {
  const mark = metrics.marks.find(({ code }) => code === 'foreign-requests');
  if (mark !== undefined) {
    return `it counted ${String(mark.facts['foreign'] ?? 'some')} requests more than were sent`;
  }
  // A point that was cut off leaves requests of our own behind for a moment.
  return usable ? clientsNow(launched, signal) : undefined;
}

/** Who is at the server although nothing is sent; undefined when nobody is. */
async function clientsNow(
  { deps, facts }: Launched,
  signal: AbortSignal,
): Promise<string | undefined> {
  const busy = await busyRequests(deps, facts.timeScale, signal);
  return busy === undefined ? undefined : `${String(busy)} requests ran while none was sent`;
}

/** Requests at a server that none was sent to, seen at every look for some seconds. */
async function busyRequests(
  { probe, clock }: { readonly probe: LaunchDeps['probe']; readonly clock: Clock },
  timeScale: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const deadlineMs = clock.nowMs() + IDLE_WAIT_MS / timeScale;
  for (;;) {
    const busy = await probe.inFlight?.(signal).catch((error: unknown) => {
      // The server that ended meanwhile, or the sweep: whoever called looks at both.
      if (signal.aborted) return null;
      throw error;
    });
    if (busy === undefined || busy === null || busy === 0) return undefined;
    if (clock.nowMs() >= deadlineMs) return busy;
    await clock.sleep(IDLE_POLL_MS / timeScale);
  }
}

/** Undefined when the server could not be reached, or the signal was aborted. */
async function measurePoint(
  key: MeasurementKey,
  { facts, job, deps: { measurer, emit } }: Launched,
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
      isBaseline: job.trial.isBaseline,
      expectedTokensPerSecond: job.trial.isBaseline ? null : job.baselineAt(concurrency),
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
    // The machine's fault, not the server's: every other trial would meet it too.
    if (error instanceof LoadHostError || !isNetworkFailure(error)) throw error;
    return undefined;
  }
}

function commit(
  point: PointResult,
  startedAtMs: number,
  { concurrency, repeat, round }: MeasurementKey,
  { launchId, job, effective, deps: { store, emit } }: Launched,
): void {
  const { records, conditions, gpuSamples } = point;
  const metrics = withServerMarks(point.metrics, effective);
  store.addMeasurement({
    launchId,
    trialId: job.trial.id,
    round,
    concurrency,
    repeat,
    startedAtMs,
    metrics,
    records,
    conditions,
    gpuSamples,
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
