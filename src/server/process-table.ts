import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { environValue, type ProcessStat, parseCommandLine, parseStat } from './proc-text.ts';

/** Names one process for as long as the machine is up, whatever happens to its pid. */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

/** Facts of a process, also of one that has ended and waits to be reaped; undefined when gone. */
export function processStat(pid: number): ProcessStat | undefined {
  return parseStat(readProc(`${pid}/stat`) ?? '');
}

/** As `processStat`, but only for processes that have not ended. */
export function liveProcess(pid: number): ProcessStat | undefined {
  const stat = processStat(pid);
  return stat === undefined || hasEnded(stat) ? undefined : stat;
}

/**
 * A process whose main thread ended, or that was killed while a thread is stuck in a driver, shows
 * as a zombie, yet holds its GPU memory: only a zombie with no other thread has ended.
 */
function hasEnded({ pid, state }: ProcessStat): boolean {
  if (state === 'X') return true;
  return state === 'Z' && listProc(`${pid}/task`).length <= 1;
}

/** Whether exactly this process still runs (not another one that got its pid). */
export function isAlive({ pid, startTicks }: ProcessId): boolean {
  return liveProcess(pid)?.startTicks === startTicks;
}

/** Every live process of the machine. About 10 microseconds each. */
export function liveProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => liveProcess(Number(name)) ?? []);
}

/** A variable of a process's environment at its start; undefined when absent or not ours to read. */
export function environmentOf(pid: number, name: string): string | undefined {
  return environValue(readProc(`${pid}/environ`) ?? '', name);
}

/** As `environmentOf`, but null where the environment can be read and has no such variable. */
export function variableOf(pid: number, name: string): string | null | undefined {
  const environment = readProc(`${pid}/environ`);
  return environment === undefined ? undefined : (environValue(environment, name) ?? null);
}

/** Command line of a process, or its bracketed short name where there is none. */
export function commandOf(pid: number): string[] {
  const argv = parseCommandLine(readProc(`${pid}/cmdline`) ?? '');
  return argv.length > 0 ? argv : [`[${liveProcess(pid)?.name ?? 'ended'}]`];
}

/** Inodes of the sockets a process holds; empty for processes of other users. */
export function socketInodesOf(pid: number): Set<number> {
  const inodes = new Set<number>();
  for (const descriptor of listProc(`${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkProc(`${pid}/fd/${descriptor}`) ?? '')?.[1];
    if (inode !== undefined) inodes.add(Number(inode));
  }
  return inodes;
}

/** Text below `/proc`; undefined when the process is gone or belongs to another user. */
export function readProc(path: string): string | undefined {
  return unlessGone(() => readFileSync(`/proc/${path}`, 'utf8'));
}

function listProc(path: string): string[] {
  return unlessGone(() => readdirSync(`/proc/${path}`)) ?? [];
}

function linkProc(path: string): string | undefined {
  return unlessGone(() => readlinkSync(`/proc/${path}`));
}

/** Processes end while they are looked at, and those of other users may not be looked at. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (typeof code === 'string' && GONE.has(code)) return undefined;
    throw error;
  }
}

const GONE = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR']);
