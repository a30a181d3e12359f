import type { Clock } from '../clock.ts';
import type { NotReadyReason } from '../server/readiness.ts';
import type { RunningServer } from '../server/target.ts';
import { classifyFailure, type FailureCause } from '../sglang/failure-causes.ts';
import { startupStage } from '../sglang/startup-stage.ts';
import type { PointResult } from './services.ts';

/** SGLang takes 5.8 s from the death of its scheduler to its own (seen in 0.5.23). */
const DEATH_WAIT_MS = 8000;
export const DEATH_POLL_MS = 500;

/** What the classifier says when the log tells of no death. */
const UNTOLD_CAUSES: ReadonlySet<string> = new Set(['not-ready', 'serving-hang']);

/** Lines in which the cause of a failure and the stage of a start are looked for. */
export const LOG_SEARCH_LINES = 400;

/** Why a server is not ready, or died while serving, from its log, its end and our limits. */
export function failureOf(
  server: RunningServer,
  phase: 'start' | 'serving',
  why?: NotReadyReason,
): FailureCause {
  if (why === 'foreign-server') {
    return environmentFailure(
      server,
      'foreign-server',
      'another server answered on the port of this launch',
    );
  }
  const exit = server.exit();
  if (exit !== undefined && exit.code === null && exit.signal === null) {
    // systemd does not restart a trial by itself.
    const message = 'its unit was started anew: a reboot, a restore by the lease, or somebody';
    return environmentFailure(server, 'restarted', message);
  }
  const timedOut =
    why === 'stalled' ? ('stall' as const) : why === 'total-limit' ? ('total' as const) : undefined;
  return classifyFailure({
    phase,
    exit: server.exit() ?? null,
    logLines: server.logTail(LOG_SEARCH_LINES),
    ...(timedOut === undefined ? {} : { timedOut }),
  });
}

/** A failure that is not the flags' fault and that the log does not tell of. */
export function environmentFailure(
  server: RunningServer,
  code: string,
  message: string,
): FailureCause {
  const stage = startupStage(server.logTail(LOG_SEARCH_LINES));
  return { code, kind: 'environment', message, stage, directions: [] };
}

/**
 * Whether the server died under a point that failed, and of what. Its clients see a crash seconds
 * before the process ends, and the log may tell of it while the process lives on (field report A7).
 */
export async function deathOf(
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
