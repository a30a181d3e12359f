import type { Clock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import { type AgainstBaseline, againstBaseline } from '../ranking/against-baseline.ts';
import { cellSample } from '../ranking/cell-sample.ts';
import type { ScoreKind } from '../ranking/score.ts';
import type { CellSample, TrialData } from '../ranking/trial-data.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { formatValue, sameValue } from '../search-space/values.ts';
import { waitUntilReady } from '../server/readiness.ts';
import type { RunningServer } from '../server/target.ts';
import {
  type EffectiveConfiguration,
  effectiveConfiguration,
} from '../sglang/effective-configuration.ts';
import type { MeasurementKey } from '../storage/study-store.ts';
import { failureOf, LOG_SEARCH_LINES } from './launch-failure.ts';
import type { Measurer, PointResult, ServerFacts, ServerProbe } from './services.ts';

export interface TryDeps {
  readonly study: Study;
  readonly probe: ServerProbe;
  readonly measurer: Measurer;
  readonly clock: Clock;
  readonly scoreKind: ScoreKind;
  /** What the study measured. */
  readonly trials: readonly TrialData[];
  /** What servers of this assignment ran in the study, as far as they said; undefined: unknown. */
  readonly measuredAs: EffectiveConfiguration['values'] | undefined;
  readonly tell: (line: string) => void;
}

/** `bad`: production must come back, and why. */
export type TryOutcome =
  | { readonly state: 'good'; readonly comparison: AgainstBaseline }
  | { readonly state: 'bad'; readonly reason: string };

/** Times one concurrency is measured while somebody else uses the server. */
const ATTEMPTS_PER_POINT = 5;
/** Far from every round of a study: its prompts are its own. */
const ROUND = 9000;

/**
 * Judges a server that runs a recommendation: it must become ready, run what the study measured,
 * serve the whole profile without a fault, live through it, and not be worse than the study's
 * baseline beyond noise. Leaves the server running.
 *
 * Throws the signal's reason when interrupted.
 */
export async function tryRecommendation(
  server: RunningServer,
  assignment: Assignment,
  deps: TryDeps,
  signal: AbortSignal,
): Promise<TryOutcome> {
  const { study, probe, clock, tell } = deps;
  const { stallSeconds, totalSeconds } = study.start;
  tell('waiting until it answers a completion ...');
  const readiness = await waitUntilReady({
    server,
    probe: (probeSignal) => probe.complete(probeSignal),
    limits: { stallSeconds, totalSeconds },
    clock,
    signal,
  });
  if (readiness.state === 'not-ready') {
    return bad(`it does not become ready: ${failureOf(server, 'start', readiness.why).message}`);
  }
  const facts = await probe.facts(signal);
  const other = otherConfiguration(server, facts, assignment, deps.measuredAs);
  if (other !== undefined) return bad(other);
  const samples = new Map<number, CellSample>();
  for (const concurrency of study.profile.keys()) {
    const point = await measure(concurrency, facts, deps, signal);
    if (typeof point === 'string') return bad(`at ${String(concurrency)} in flight ${point}`);
    samples.set(concurrency, cellSample(-1, point.metrics));
    const speed = point.metrics.outputTokensPerSecond.toFixed(1);
    tell(`  C=${String(concurrency)}  ${speed} tok/s`);
  }
  await probe.complete(signal);
  // It watches its process: a restart behind our back is an end as well.
  if (server.exit() !== undefined) return bad('its process ended while it was measured');
  return judge(samples, deps);
}

function bad(reason: string): TryOutcome {
  return { state: 'bad', reason };
}

function judge(samples: ReadonlyMap<number, CellSample>, deps: TryDeps): TryOutcome {
  const { study, scoreKind, trials } = deps;
  const comparison = againstBaseline({ kind: scoreKind, profile: study.profile, trials }, samples);
  if (comparison === undefined) return bad('its measurements cannot be compared with the baseline');
  if (!comparison.isWorse) return { state: 'good', comparison };
  const percent = (fraction: number) => `${(100 * fraction).toFixed(1)} %`;
  return bad(
    `it is slower than the baseline of the study: ${percent(comparison.changeFraction)}, with noise of ${percent(comparison.noiseFraction)}`,
  );
}

/** What the server runs otherwise than the study's servers of this assignment did. */
function otherConfiguration(
  server: RunningServer,
  facts: ServerFacts,
  assignment: Assignment,
  measuredAs: TryDeps['measuredAs'],
): string | undefined {
  const { values } = effectiveConfiguration({
    assignment,
    serverInfo: facts.serverInfo ?? undefined,
    logLines: server.logTail(LOG_SEARCH_LINES),
  });
  for (const [name, { asked, effective, took }] of Object.entries(values)) {
    const before = measuredAs?.[name];
    const isOther =
      before?.effective === undefined || effective === undefined
        ? took === 'no' && before?.took !== 'no'
        : !sameValue(before.effective, effective);
    if (!isOther) continue;
    const runs = effective === undefined ? 'something else' : formatValue(effective);
    return `it runs ${name} = ${runs}; asked was ${formatValue(asked)}`;
  }
  return undefined;
}

/** A measurement, or why there is none. */
async function measure(
  concurrency: number,
  facts: ServerFacts,
  { measurer }: TryDeps,
  signal: AbortSignal,
): Promise<PointResult | string> {
  for (let attempt = 1; ; attempt += 1) {
    const key: MeasurementKey = { round: ROUND, concurrency, repeat: attempt };
    const point = await measurer
      .measure({
        ...key,
        facts,
        signal,
        onPhase: () => undefined,
        onProgress: () => undefined,
      })
      .catch((error: unknown) => {
        signal.throwIfAborted();
        if (isNetworkFailure(error)) return undefined;
        throw error;
      });
    signal.throwIfAborted();
    if (point === undefined) return 'it does not answer';
    if (!point.usable) return `the measurement ended early (${point.why})`;
    const { barredBy } = cellSample(-1, point.metrics);
    if (barredBy.length === 0) return point;
    if (attempt === ATTEMPTS_PER_POINT) return `no clean measurement: ${barredBy.join(', ')}`;
  }
}
