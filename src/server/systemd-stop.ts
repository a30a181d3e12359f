import type { Clock } from '../clock.ts';
import { parseListeners } from './proc-text.ts';
import { type SystemdAccess, systemctl } from './systemd-access.ts';
import { showUnit } from './systemd-unit-state.ts';
import type { StopProof } from './target.ts';

export interface SystemdStopLimits {
  /** For `systemctl stop`: SGLang first finishes what it has accepted. */
  readonly stopSeconds: number;
  /** After SIGKILL: a process may be stuck in the GPU driver. */
  readonly killSeconds: number;
}

export const DEFAULT_STOP_LIMITS: SystemdStopLimits = { stopSeconds: 120, killSeconds: 30 };

const POLL_MS = 300;
const COMMAND_LIMIT_MS = 30_000;
const PORT_SECONDS = 2;

/**
 * Stops the unit and proves that nothing of it is left: no process of the invocation, no listener
 * on the port. `stop` first, `kill` with SIGKILL when it takes too long.
 *
 * Processes are found by the INVOCATION_ID in their environment, which children inherit wherever
 * they go; the cgroup alone would miss one that moved out of it.
 */
export async function stopUnit(
  access: SystemdAccess,
  { invocationId, port }: { readonly invocationId: string; readonly port: number | undefined },
  clock: Clock,
  limits: SystemdStopLimits = DEFAULT_STOP_LIMITS,
): Promise<StopProof> {
  const startMs = clock.nowMs();
  await systemctl(access, 'stop', '--no-block', access.unit);
  if (!(await isDownWithin(access, clock, limits.stopSeconds))) await kill(access);
  let left = await processesOf(access, invocationId);
  if (left.length > 0) {
    await kill(access);
    const deadlineMs = clock.nowMs() + limits.killSeconds * 1000;
    do {
      await clock.sleep(POLL_MS);
      left = await processesOf(access, invocationId);
    } while (left.length > 0 && clock.nowMs() < deadlineMs);
  }
  const survivors = left.map((pid) => `process ${pid} of ${access.unit}`);
  if (
    port !== undefined &&
    survivors.length === 0 &&
    !(await portClosesWithin(access, port, clock))
  ) {
    survivors.push(`somebody listens on port ${port}`);
  }
  return { clean: survivors.length === 0, seconds: (clock.nowMs() - startMs) / 1000, survivors };
}

async function isDownWithin(
  access: SystemdAccess,
  clock: Clock,
  seconds: number,
): Promise<boolean> {
  const deadlineMs = clock.nowMs() + seconds * 1000;
  for (;;) {
    const { activeState, hasJob } = await showUnit(access);
    if (!hasJob && ['inactive', 'failed'].includes(activeState)) return true;
    if (clock.nowMs() >= deadlineMs) return false;
    await clock.sleep(POLL_MS);
  }
}

async function kill(access: SystemdAccess): Promise<void> {
  await systemctl(access, 'kill', '--signal=SIGKILL', access.unit);
}

/** The words that list an invocation's processes as `/proc/PID/environ`, one a line. */
export function findProcessesWords(invocationId: string): string[] {
  const grep = ['-exec', 'grep', '-lzsxF', `INVOCATION_ID=${invocationId}`, '{}', '+'];
  return ['find', '/proc', '-mindepth', '2', '-maxdepth', '2', '-name', 'environ', ...grep];
}

/** Ids of live processes of an invocation. */
export async function processesOf(access: SystemdAccess, invocationId: string): Promise<number[]> {
  if (!/^[0-9a-f]{32}$/.test(invocationId)) return [];
  const result = await access.root.run({
    argv: findProcessesWords(invocationId),
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return [...result.stdout.matchAll(/^\/proc\/(\d+)\//gm)].map(([, pid]) => Number(pid));
}

async function portClosesWithin(
  access: SystemdAccess,
  port: number,
  clock: Clock,
): Promise<boolean> {
  const deadlineMs = clock.nowMs() + PORT_SECONDS * 1000;
  for (;;) {
    const tables = await Promise.all(
      ['/proc/net/tcp', '/proc/net/tcp6'].map(async (path) => access.host.readText(path)),
    );
    const listeners = tables.flatMap((text) => parseListeners(text ?? ''));
    if (!listeners.some((socket) => socket.port === port)) return true;
    if (clock.nowMs() >= deadlineMs) return false;
    await clock.sleep(POLL_MS);
  }
}
