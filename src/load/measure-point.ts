import type { Clock } from '../clock.ts';
import { computePointMetrics } from '../metrics/compute-point-metrics.ts';
import type { Slos } from '../metrics/goodput.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { countsBetween, type ServerCounters } from '../metrics/server-counts.ts';
import type { Arrivals } from './arrivals.ts';
import type { Dialect } from './dialect.ts';
import { findDialect } from './find-dialect.ts';
import type { Api, LoadPlan, LoadProgress, LoadRun } from './load-run.ts';
import { createPromptSource } from './prompts/create-prompt-source.ts';
import type { SessionShape } from './prompts/session-prompts.ts';
import type { IdRange } from './prompts/token-prompts.ts';
import { requestsOfPoint } from './requests-of-point.ts';
import { runLoad } from './run-load.ts';
import { readServerCounters } from './server-counters.ts';
import { type FlushResult, flushCache, type ServerAccess } from './server-probe.ts';
import { type WarmUp, warmUpUntilSettled } from './warm-up.ts';

/** What is asked of the server; the shape of WorkloadConfig, which lives in an outer layer. */
export interface PointWorkload {
  readonly prompts: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  readonly api: Api;
  readonly requests?: number | undefined;
  readonly seed: number;
  readonly tokenId: number;
  /** Ids of `random-ids`, for a model of a small vocabulary. */
  readonly idRange?: IdRange | undefined;
  /** Share of each prompt that all prompts of the run have in common. */
  readonly sharedPrefixFraction?: number | undefined;
  readonly session?: SessionShape | undefined;
  /** Default: a closed loop without think time. */
  readonly arrivals?: Arrivals | undefined;
}

export interface PointOptions extends ServerAccess {
  readonly model: string;
  readonly timeScale: number;
  readonly runningLimit?: number | null;
  readonly workload: PointWorkload;
  readonly concurrency: number;
  /** Requests of one warm-up window; 0 for no warm-up. Default: one wave. */
  readonly warmUpRequests?: number | undefined;
  /** Differs for every sweep, launch, round and repeat: no prompt is sent twice. Stored for a replay. */
  readonly salt: string;
  /** All in seconds of the server's time. */
  readonly requestTimeoutSeconds: number;
  readonly pointTimeoutSeconds: number;
  readonly stallSeconds: number;
  /** Default 0.5: a server that fails half of its requests is not worth waiting for. */
  readonly maxFailureFraction?: number | undefined;
  /** Ends the point when it is far below this by the time it should be over; null for never. */
  readonly expectedTokensPerSecond?: number | null | undefined;
  readonly slos?: Slos | undefined;
}

export interface PointDeps {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly onPhase?: ((phase: 'warm-up' | 'measure') => void) | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

export interface MeasuredPoint {
  readonly metrics: PointMetrics;
  readonly run: LoadRun;
  /** How it was taken: what is needed to take it again. */
  readonly conditions: Readonly<Record<string, string | number | boolean | null>>;
}

/** Output of a warm-up request: enough decode steps for every kernel to be compiled and tuned. */
const WARM_UP_TOKENS = 64;
/** Warm-up of an open loop, which has no concurrency of its own. */
const OPEN_LOOP_WARM_UP = 8;
/** Below this share of the expected speed a point is not worth its time (field report D6). */
const HOPELESS_FRACTION = 0.3;
/** SGLang's tokenizer process counts a request just after its last event has left. */
const COUNTER_WAIT_MS = 100;

/**
 * Measures one concurrency (or one rate): warm-up with other prompts until it settles, cache flush,
 * a second warm-up with yet others until it is as fast as the first, then the load run (field
 * reports C11, C13: a flush also empties the allocator, whose first requests must not be measured).
 *
 * Prompts that are the same every time (`fixed-token`) are measured as the reference benchmark
 * did: with the prefix cached. The warm-up then sends that very prompt and nothing is flushed, or
 * the first wave would be measured uncached and the rest cached; the point is marked as cacheable.
 *
 * Throws UserError when the server cannot be reached; a limit or an interrupt ends the run early
 * and is told by `run.end` and the mark `partial`. A limit that fires in the warm-up is the end of
 * the point: what was measured until then is all there is.
 */
export async function measurePoint(options: PointOptions, deps: PointDeps): Promise<MeasuredPoint> {
  const { clock, signal } = deps;
  deps.onPhase?.('warm-up');
  const dialect =
    options.workload.api === 'native'
      ? undefined
      : await findDialect(
          { ...options, api: options.workload.api },
          options.workload.ignoreEos,
          signal,
        );
  const ready = await prepare(options, dialect, deps);
  if (ready.cutShort !== undefined) return pointOf(options, dialect, ready, ready.cutShort);

  deps.onPhase?.('measure');
  const before = await readServerCounters(options, signal);
  const run = await runLoad(planOf(options, dialect, 'measure'), deps);
  const counted = before === null ? undefined : await countersAfter(options, before, run, clock);
  return pointOf(options, dialect, ready, run, counted);
}

/** What happened before the measurement. */
interface Prepared {
  readonly first?: WarmUp;
  readonly flush?: FlushResult;
  readonly second?: WarmUp;
  readonly cutShort?: LoadRun;
}

async function prepare(
  options: PointOptions,
  dialect: Dialect | undefined,
  { clock, signal }: PointDeps,
): Promise<Prepared> {
  if (options.warmUpRequests === 0) return {};
  const { timeScale, workload } = options;
  const windows = (phase: string, expected?: number) =>
    warmUpUntilSettled(
      async (number) => {
        signal?.throwIfAborted();
        const run = await runLoad(warmUpPlan(options, dialect, `${phase}/${number}`), {
          clock,
          signal,
        });
        signal?.throwIfAborted();
        return run;
      },
      { timeScale, expected },
    );
  const first = await windows('warm-up');
  const cacheable = promptsOf(options, 'measure').cacheable;
  if (first.cutShort !== undefined) return { first, cutShort: first.cutShort };
  if (cacheable || workload.api !== 'native') return { first };
  const flush = await flushCache(options, clock, signal);
  const second = await windows('second warm-up', first.settled ? first.curve.at(-1) : undefined);
  return {
    first,
    flush,
    second,
    ...(second.cutShort === undefined ? {} : { cutShort: second.cutShort }),
  };
}

function warmUpPlan(options: PointOptions, dialect: Dialect | undefined, phase: string): LoadPlan {
  const plan = planOf({ ...options, expectedTokensPerSecond: null }, dialect, phase);
  const isOpen = plan.arrivals?.kind === 'open';
  const wave = isOpen ? OPEN_LOOP_WARM_UP : options.concurrency;
  const requests = options.warmUpRequests ?? wave;
  const { prompts } = plan;
  const turns = prompts.turns ?? 1;
  return {
    ...plan,
    arrivals: undefined,
    requests,
    concurrency: Math.min(wave, requests),
    outputTokens: Math.min(plan.outputTokens, WARM_UP_TOKENS),
    // First turns of sessions only: a window is one wave, without pauses.
    prompts: {
      name: prompts.name,
      cacheable: prompts.cacheable,
      natural: prompts.natural,
      prompt: (index) => prompts.prompt(index * turns),
    },
  };
}

function planOf(options: PointOptions, dialect: Dialect | undefined, phase: string): LoadPlan {
  const { workload, concurrency, apiKey, expectedTokensPerSecond } = options;
  const prompts = promptsOf(options, phase);
  const { arrivals } = workload;
  return {
    baseUrl: options.baseUrl,
    api: workload.api,
    model: options.model,
    ...(apiKey === undefined ? {} : { apiKey }),
    concurrency,
    arrivals,
    dialect,
    requests: requestsOfPoint(concurrency, workload.requests, {
      turns: prompts.turns,
      requestsPerSecond: arrivals?.kind === 'open' ? arrivals.requestsPerSecond : undefined,
    }),
    prompts,
    outputTokens: workload.outputTokens,
    ignoreEos: workload.ignoreEos,
    requestTimeoutMs: options.requestTimeoutSeconds * 1000,
    stallMs: options.stallSeconds * 1000,
    pointTimeoutMs: options.pointTimeoutSeconds * 1000,
    maxFailureFraction: options.maxFailureFraction ?? 0.5,
    timeScale: options.timeScale,
    ...(expectedTokensPerSecond == null
      ? {}
      : { hopeless: { expectedTokensPerSecond, fraction: HOPELESS_FRACTION } }),
  };
}

/** Phase and concurrency are part of the salt: no point ever sees a prompt of another (C9). */
function promptsOf({ workload, salt, concurrency }: PointOptions, phase: string) {
  return createPromptSource({ ...workload, salt: `${salt}/${concurrency}/${phase}` });
}

/** Read again once when the server is still counting its last answer. */
async function countersAfter(
  options: PointOptions,
  before: ServerCounters,
  run: LoadRun,
  clock: Clock,
): Promise<ServerCounters | undefined> {
  for (const attempt of [1, 2]) {
    await clock.sleep(COUNTER_WAIT_MS * attempt);
    const after = await readServerCounters(options);
    if (after === null) return undefined;
    const counted = countsBetween(before, after);
    if (attempt === 2 || (counted.requests ?? run.records.length) >= run.records.length) {
      return counted;
    }
  }
  return undefined;
}

function pointOf(
  options: PointOptions,
  dialect: Dialect | undefined,
  ready: Prepared,
  run: LoadRun,
  serverCounted?: ServerCounters,
): MeasuredPoint {
  const plan = planOf(options, dialect, 'measure');
  const { arrivals, prompts } = plan;
  const isOpen = arrivals?.kind === 'open';
  const metrics = computePointMetrics({
    records: run.records,
    concurrency: isOpen ? Math.max(1, run.selfCheck.peakInFlight) : options.concurrency,
    plannedRequests: plan.requests,
    end: run.end,
    cacheable: prompts.cacheable,
    natural: prompts.natural,
    ...(prompts.sharedFraction === undefined ? {} : { sharedFraction: prompts.sharedFraction }),
    pauses:
      (prompts.turns ?? 1) > 1 || (arrivals?.kind === 'closed' && (arrivals.thinkTimeMs ?? 0) > 0),
    offeredRequestsPerSecond: isOpen ? arrivals.requestsPerSecond : undefined,
    timeScale: options.timeScale,
    selfCheck: run.selfCheck,
    flushed: ready.flush?.flushed ?? null,
    settled: ready.first === undefined ? null : (ready.second ?? ready.first).settled,
    runningLimit: options.runningLimit ?? null,
    slos: options.slos,
    serverCounted,
  });
  return { metrics, run, conditions: conditionsOf(options, plan, run, ready) };
}

function conditionsOf(
  options: PointOptions,
  plan: LoadPlan,
  run: LoadRun,
  { first, flush, second, cutShort }: Prepared,
): MeasuredPoint['conditions'] {
  const { arrivals } = plan;
  return {
    prompts: plan.prompts.name,
    prompt_seed: options.workload.seed,
    prompt_salt: options.salt,
    api: plan.api,
    arrivals: arrivals?.kind === 'open' ? arrivals.process : 'closed loop',
    think_time_ms: arrivals?.kind === 'closed' ? (arrivals.thinkTimeMs ?? 0) : 0,
    requests: plan.requests,
    time_scale: plan.timeScale,
    warm_up_steps_per_second: first === undefined ? null : curveText(first),
    warm_up_settled: first?.settled ?? null,
    flushed: flush?.flushed ?? null,
    flush_attempts: flush?.attempts ?? null,
    flush_message: flush?.message ?? null,
    second_warm_up_steps_per_second: second === undefined ? null : curveText(second),
    second_warm_up_settled: second?.settled ?? null,
    ended_in: cutShort === undefined ? 'measurement' : 'warm-up',
    event_loop_delay_p99_ms: run.selfCheck.eventLoopDelayP99Ms,
    client_cpu_fraction: run.selfCheck.cpuFraction,
    client_cpu_wait_fraction: run.selfCheck.cpuWaitFraction ?? null,
    dispatch_lag_p99_ms: run.selfCheck.dispatchLagP99Ms,
    peak_in_flight: run.selfCheck.peakInFlight,
    end: run.end,
  };
}

/** `118.2 120.4`: in order, so that a reader sees what was still warming up. */
function curveText({ curve }: WarmUp): string {
  return curve.map((speed) => speed.toFixed(1)).join(' ');
}
