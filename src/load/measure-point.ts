import type { Clock } from '../clock.ts';
import { computePointMetrics } from '../metrics/compute-point-metrics.ts';
import { countsBetween, type ServerCounters } from '../metrics/server-counts.ts';
import type { Dialect } from './dialect.ts';
import { findDialect } from './find-dialect.ts';
import type { LoadRun } from './load-run.ts';
import { pointConditions } from './point-conditions.ts';
import type { MeasuredPoint, PointDeps, PointOptions } from './point-options.ts';
import { pointPlan } from './point-plan.ts';
import { type Prepared, prepareServer } from './point-warm-up.ts';
import { runLoad } from './run-load.ts';
import { readServerCounters } from './server-counters.ts';

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
  const { api, ignoreEos } = options.workload;
  deps.onPhase?.('warm-up');
  const dialect =
    api === 'native' ? undefined : await findDialect({ ...options, api }, ignoreEos, signal);
  const ready = await prepareServer(options, dialect, deps);
  if (ready.cutShort !== undefined) return pointOf(options, dialect, ready, ready.cutShort);

  deps.onPhase?.('measure');
  const before = await readServerCounters(options, signal);
  const run = await runLoad(pointPlan(options, dialect, 'measure'), deps);
  const counted = before === null ? undefined : await countersAfter(options, before, run, clock);
  return pointOf(options, dialect, ready, run, counted);
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
  const plan = pointPlan(options, dialect, 'measure');
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
  return { metrics, run, conditions: pointConditions(options, plan, run, ready) };
}
