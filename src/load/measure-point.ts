import type { Clock } from '../clock.ts';
import { computePointMetrics } from '../metrics/compute-point-metrics.ts';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { runClosedLoop } from './closed-loop.ts';
import type { Api, LoadPlan, LoadProgress, LoadRun } from './load-run.ts';
import { createPromptSource } from './prompts/create-prompt-source.ts';
import { requestsOfPoint } from './requests-of-point.ts';
import { type FlushResult, flushCache, type ServerAccess } from './server-probe.ts';

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
}

export interface PointOptions extends ServerAccess {
  readonly model: string;
  readonly timeScale: number;
  readonly runningLimit?: number | null;
  readonly workload: PointWorkload;
  readonly concurrency: number;
  /** Requests of the warm-up; 0 for none. Default: one wave. */
  readonly warmUpRequests?: number | undefined;
  /** Differs for every sweep, launch, round and repeat: no prompt is sent twice. Stored for a replay. */
  readonly salt: string;
  /** All in seconds of the server's time. */
  readonly requestTimeoutSeconds: number;
  readonly pointTimeoutSeconds: number;
  readonly stallSeconds: number;
  /** Default 0.5: a server that fails half of its requests is not worth waiting for. */
  readonly maxFailureFraction?: number | undefined;
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
const SECOND_WARM_UP_TOKENS = 16;

/**
 * Measures one concurrency: warm-up with other prompts, cache flush, a short second warm-up with
 * yet others, then the load run (field report C11: a flush also empties the allocator, whose first
 * requests must not be measured).
 *
 * Prompts that are the same every time (`fixed-token`) are measured as the reference benchmark
 * did: with the prefix cached. The warm-up then sends that very prompt and nothing is flushed, or
 * the first wave would be measured uncached and the rest cached; the point is marked as cacheable.
 *
 * Throws UserError when the server cannot be reached; a limit or an interrupt ends the run early
 * and is told by `run.end` and the mark `partial`.
 */
export async function measurePoint(options: PointOptions, deps: PointDeps): Promise<MeasuredPoint> {
  const { concurrency, workload, warmUpRequests = concurrency } = options;
  deps.onPhase?.('warm-up');
  const cacheable = promptsOf(options, 'measure').cacheable;
  let flush: FlushResult | undefined;
  if (warmUpRequests > 0) {
    await warmUp(options, deps, 'warm-up', warmUpRequests, WARM_UP_TOKENS);
    if (!cacheable && workload.api === 'native') {
      flush = await flushCache(options, deps.clock, deps.signal);
      const again = Math.min(warmUpRequests, concurrency);
      await warmUp(options, deps, 'second warm-up', again, SECOND_WARM_UP_TOKENS);
    }
  }
  deps.onPhase?.('measure');
  const plan = planOf(options, 'measure', {});
  const run = await runClosedLoop(plan, deps);
  const metrics = computePointMetrics({
    records: run.records,
    concurrency,
    plannedRequests: plan.requests,
    end: run.end,
    cacheable,
    timeScale: options.timeScale,
    selfCheck: run.selfCheck,
    flushed: flush?.flushed ?? null,
    runningLimit: options.runningLimit ?? null,
  });
  return { metrics, run, conditions: conditionsOf(options, plan, run, flush) };
}

async function warmUp(
  options: PointOptions,
  { clock, signal }: PointDeps,
  phase: string,
  requests: number,
  tokens: number,
): Promise<void> {
  signal?.throwIfAborted();
  const concurrency = Math.min(options.concurrency, requests);
  const outputTokens = Math.min(options.workload.outputTokens, tokens);
  const plan = planOf(options, phase, { requests, concurrency, outputTokens });
  await runClosedLoop(plan, { clock, signal });
  signal?.throwIfAborted();
}

function planOf(options: PointOptions, phase: string, changes: Partial<LoadPlan>): LoadPlan {
  const { workload, concurrency, apiKey } = options;
  return {
    baseUrl: options.baseUrl,
    api: workload.api,
    model: options.model,
    ...(apiKey === undefined ? {} : { apiKey }),
    concurrency,
    requests: requestsOfPoint(concurrency, workload.requests),
    prompts: promptsOf(options, phase),
    outputTokens: workload.outputTokens,
    ignoreEos: workload.ignoreEos,
    requestTimeoutMs: options.requestTimeoutSeconds * 1000,
    stallMs: options.stallSeconds * 1000,
    pointTimeoutMs: options.pointTimeoutSeconds * 1000,
    maxFailureFraction: options.maxFailureFraction ?? 0.5,
    timeScale: options.timeScale,
    ...changes,
  };
}

/** Phase and concurrency are part of the salt: no point ever sees a prompt of another (C9). */
function promptsOf({ workload, salt, concurrency }: PointOptions, phase: string) {
  return createPromptSource({ ...workload, salt: `${salt}/${concurrency}/${phase}` });
}

function conditionsOf(
  options: PointOptions,
  plan: LoadPlan,
  run: LoadRun,
  flush: FlushResult | undefined,
): MeasuredPoint['conditions'] {
  return {
    prompts: plan.prompts.name,
    prompt_seed: options.workload.seed,
    prompt_salt: options.salt,
    api: plan.api,
    requests: plan.requests,
    time_scale: plan.timeScale,
    flushed: flush?.flushed ?? null,
    flush_attempts: flush?.attempts ?? null,
    flush_message: flush?.message ?? null,
    event_loop_delay_p99_ms: run.selfCheck.eventLoopDelayP99Ms,
    client_cpu_fraction: run.selfCheck.cpuFraction,
    end: run.end,
  };
}
