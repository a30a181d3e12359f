import type { Clock } from '../clock.ts';
import type { LoadPlan, LoadRunEnd } from './load-run.ts';

/** Wall ms between two looks at the limits: a twentieth of the tightest one, within these bounds. */
const MIN_TICK_MS = 2;
const MAX_TICK_MS = 250;
/** Wall ms before a run may be hopeless: a shorter one wastes nothing, and a busy moment is most of it. */
const MIN_JUDGED_MS = 1000;

/** What the limits are judged by, all in the run's time. */
export interface RunState {
  nowMs(): number;
  /** Last byte from any stream; the start of the run before the first. */
  lastByteAtMs(): number;
  inFlight(): number;
  /** Output tokens that have arrived, of answers still under way too. */
  tokensSoFar(): number;
  /** Ends every request that was sent before this moment. */
  expireRequests(sentBeforeMs: number): void;
  end(why: LoadRunEnd): void;
}

/** Watches the limits of a run until `stop` is aborted. One timer for all requests. */
export async function watchLimits(
  plan: LoadPlan,
  run: RunState,
  clock: Clock,
  stop: AbortSignal,
): Promise<void> {
  const tightestMs = Math.min(plan.requestTimeoutMs, plan.stallMs, plan.pointTimeoutMs);
  const tickMs = Math.min(Math.max(tightestMs / plan.timeScale / 20, MIN_TICK_MS), MAX_TICK_MS);
  while (!stop.aborted) {
    await clock.sleep(tickMs, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
    const now = run.nowMs();
    if (now >= plan.pointTimeoutMs) run.end('deadline');
    else if (run.inFlight() > 0 && now - run.lastByteAtMs() >= plan.stallMs) run.end('stalled');
    else if (isHopeless(plan, now, run)) run.end('hopeless');
    else run.expireRequests(now - plan.requestTimeoutMs);
  }
}

/**
 * Judged only once the run has taken as long as a run at the expected speed takes in all: its
 * prompt phase is over by then, whatever the share of that is.
 */
function isHopeless(plan: LoadPlan, nowMs: number, run: RunState): boolean {
  if (plan.hopeless === undefined) return false;
  const { expectedTokensPerSecond, fraction } = plan.hopeless;
  const expectedMs = ((plan.requests * plan.outputTokens) / expectedTokensPerSecond) * 1000;
  if (nowMs < Math.max(expectedMs, MIN_JUDGED_MS * plan.timeScale)) return false;
  return run.tokensSoFar() < (fraction * expectedTokensPerSecond * nowMs) / 1000;
}
