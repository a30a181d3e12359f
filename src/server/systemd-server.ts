import { constants } from 'node:os';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { CappedLog } from './capped-log.ts';
import type { LogTail } from './log-tail.ts';
import type { SystemdAccess } from './systemd-access.ts';
import type { LogReader } from './systemd-log.ts';
import { processesOf, type SystemdStopLimits, stopUnit } from './systemd-stop.ts';
import { showUnit, type UnitState } from './systemd-unit-state.ts';
import type { RunningServer, ServerExit, StopProof } from './target.ts';

/** Facts of one start of the unit. */
export interface UnitLaunch {
  readonly pid: number;
  readonly invocationId: string;
  readonly port: number | undefined;
  readonly startedAtMs: number;
}

const POLL_MS = 1000;

/** A unit that was started for a trial; `target.ts` describes the methods. */
export class SystemdServer implements RunningServer {
  readonly pid: number;
  /** The unit's invocation: another one means that another server answers. */
  readonly invocationId: string;
  readonly startedAtMs: number;
  readonly exited: Promise<ServerExit>;
  readonly #launch: UnitLaunch;
  readonly #access: SystemdAccess;
  readonly #clock: Clock;
  readonly #reader: LogReader;
  readonly #log: CappedLog;
  readonly #tail: LogTail;
  readonly #limits: SystemdStopLimits;
  readonly #isOurs: () => Promise<boolean>;
  readonly #stopWatching = new AbortController();
  readonly #watching: Promise<void>;
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #exit: ServerExit | undefined;
  #logBytes = 0;
  #stopRequested = false;
  #fault: Error | undefined;
  #stopping: Promise<StopProof> | undefined;

  constructor(
    launch: UnitLaunch,
    deps: {
      readonly access: SystemdAccess;
      readonly clock: Clock;
      readonly reader: LogReader;
      readonly log: CappedLog;
      readonly tail: LogTail;
      readonly limits: SystemdStopLimits;
      /** Whether the unit is still held for this launch, and not restored by the target itself. */
      readonly isOurs: () => Promise<boolean>;
    },
  ) {
    this.pid = launch.pid;
    this.invocationId = launch.invocationId;
    this.startedAtMs = launch.startedAtMs;
    this.#launch = launch;
    this.#access = deps.access;
    this.#clock = deps.clock;
    this.#reader = deps.reader;
    this.#log = deps.log;
    this.#tail = deps.tail;
    this.#limits = deps.limits;
    this.#isOurs = deps.isOurs;
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
    this.#watching = this.#watch(this.#stopWatching.signal);
  }

  exit(): ServerExit | undefined {
    return this.#exit;
  }

  logTail(lines: number): string[] {
    return this.#tail.lines(lines);
  }

  logBytes(): number {
    return this.#logBytes;
  }

  async stop(): Promise<StopProof> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Stops watching and leaves the server running: it is not ours any more. */
  async detach(): Promise<void> {
    this.#stopWatching.abort();
    await this.#watching;
    await this.#log.close();
  }

  async #stop(): Promise<StopProof> {
    this.#stopRequested = true;
    try {
      const proof = await this.#end();
      await this.#look();
      if (this.#fault !== undefined) throw this.#fault;
      return proof;
    } finally {
      await this.#log.close();
    }
  }

  async #end(): Promise<StopProof> {
    try {
      return (await this.#isOurs())
        ? await stopUnit(this.#access, this.#launch, this.#clock, this.#limits)
        : await this.#proveGone();
    } finally {
      this.#stopWatching.abort();
      await this.#watching;
    }
  }

  /** What serves by now is production: only our own processes must be gone. */
  async #proveGone(): Promise<StopProof> {
    const left = await processesOf(this.#access, this.invocationId);
    const survivors = left.map((pid) => `process ${String(pid)} of ${this.#access.unit}`);
    return { clean: survivors.length === 0, seconds: 0, survivors };
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#exit === undefined) {
      try {
        await this.#look();
      } catch (error) {
        // A broken link says nothing about the server: the next look will. A fault of ours is told
        // by the stop, which nobody can miss.
        if (!(error instanceof UserError)) {
          this.#fault ??= error instanceof Error ? error : new Error(String(error));
        }
      }
      await this.#clock.sleep(POLL_MS, signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const state = await showUnit(this.#access);
    const text = await this.#reader.read();
    if (text !== '') {
      this.#logBytes += Buffer.byteLength(text);
      this.#tail.add(text);
      this.#log.write(Buffer.from(text));
    }
    const end = endOf(state, this.#launch);
    if (end === undefined || this.#exit !== undefined) return;
    this.#exit = { ...end, requested: this.#stopRequested };
    this.#resolveExited(this.#exit);
  }
}

/**
 * How the launch's main process ended; undefined while it runs. Code and signal are null when the
 * unit has been started anew meanwhile, by somebody else: nobody knows then.
 */
export function endOf(
  state: UnitState,
  { pid, invocationId }: Pick<UnitLaunch, 'pid' | 'invocationId'>,
): { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined {
  if (state.invocationId !== invocationId && state.invocationId !== '') {
    return { code: null, signal: null };
  }
  if (state.mainPid === pid) return undefined;
  const killed = state.endedHow === 2 || state.endedHow === 3;
  return killed
    ? { code: null, signal: signalName(state.endedStatus) }
    : { code: state.endedStatus, signal: null };
}

function signalName(number: number): NodeJS.Signals | null {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return (found as NodeJS.Signals | undefined) ?? null;
}
