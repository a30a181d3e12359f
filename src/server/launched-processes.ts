import type { Clock } from '../clock.ts';
import { redactArgv } from '../sglang/redact.ts';
import type { ProcessStat } from './proc-text.ts';
import {
  commandOf,
  environmentOf,
  liveProcess,
  liveProcesses,
  type ProcessId,
} from './process-table.ts';
import { MARKER_VARIABLE } from './run-marker.ts';

/** What identifies everything that one launch started. */
export interface LaunchedProcesses {
  /** The server's main process; undefined for leftovers, which are known by their marker alone. */
  readonly main: ProcessId | undefined;
  readonly markerValue: string;
}

const POLL_MS = 50;

/**
 * Live processes of a launch: the members of the main process's group and session, and whoever
 * carries the marker (a child that called setsid leaves the group but keeps its environment).
 * Never this process, nor a member of its group.
 */
export function membersOf({ main, markerValue }: LaunchedProcesses): ProcessStat[] {
  const own = liveProcess(process.pid);
  const everything = liveProcesses();
  const groupId = main === undefined ? undefined : ownGroupOf(main, everything, own?.groupId);
  return everything.filter(({ pid, groupId: group, sessionId, startTicks }) => {
    if (pid === process.pid) return false;
    if (main !== undefined && pid === main.pid) return startTicks === main.startTicks;
    if (groupId !== undefined && (group === groupId || sessionId === groupId)) return true;
    return environmentOf(pid, MARKER_VARIABLE) === markerValue;
  });
}

/**
 * The group that may be signalled as a whole: the one the main process leads. Undefined when it
 * leads none (it was started without one: its group may be ours) or its pid belongs to another
 * process by now.
 *
 * While a group has members the kernel gives its number to no new process, so members of a group
 * whose leader has ended are the launch's own.
 */
function ownGroupOf(
  main: ProcessId,
  everything: readonly ProcessStat[],
  ourGroup: number | undefined,
): number | undefined {
  if (main.pid === ourGroup) return undefined;
  const leader = everything.find(({ pid }) => pid === main.pid);
  if (leader === undefined) return main.pid;
  const isOurs = leader.startTicks === main.startTicks && leader.groupId === main.pid;
  return isOurs ? main.pid : undefined;
}

/** SIGTERM to the main process alone: SGLang takes a signal to its children for a crash. */
export function askToEnd(main: ProcessId): void {
  if (liveProcess(main.pid)?.startTicks === main.startTicks) signal(main.pid, 'SIGTERM');
}

/**
 * Kills every process of a launch and waits until none is left, at most `limitSeconds`.
 *
 * Kills process by process and looks again until nothing is found, so that children forked in
 * between are caught and no signal ever goes to a group that is not the launch's.
 *
 * @returns the processes that survived (stuck in a driver), as "pid 42 (python3 …)"; mostly empty.
 */
export async function killAll(
  launched: LaunchedProcesses,
  clock: Clock,
  limitSeconds: number,
): Promise<string[]> {
  const deadlineMs = clock.nowMs() + limitSeconds * 1000;
  for (;;) {
    const members = membersOf(launched);
    if (members.length === 0) return [];
    if (clock.nowMs() >= deadlineMs) return members.map(describeProcess);
    killMembers(members, launched.main);
    await clock.sleep(POLL_MS);
  }
}

/** The whole group first, in one step, then everything else. */
function killMembers(members: readonly ProcessStat[], main: ProcessId | undefined): void {
  const leader = members.find(({ pid }) => pid === main?.pid);
  const ourGroup = liveProcess(process.pid)?.groupId;
  if (leader !== undefined && leader.groupId === leader.pid && leader.pid !== ourGroup) {
    signal(-leader.pid, 'SIGKILL');
  }
  for (const { pid, startTicks } of members) {
    if (liveProcess(pid)?.startTicks === startTicks) signal(pid, 'SIGKILL');
  }
}

/** "pid 42 (python3 -m sglang.launch_server …)", without secrets. */
export function describeProcess({ pid }: { readonly pid: number }): string {
  const text = redactArgv(commandOf(pid)).join(' ');
  return `pid ${pid} (${text.length <= 120 ? text : `${text.slice(0, 120)} …`})`;
}

/** Signals a process or (negative) a group; one that is gone already is fine. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return;
    throw error;
  }
}
