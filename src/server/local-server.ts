import type { Clock } from '../clock.ts';
import { portOwner } from './identity.ts';
import { askToEnd, killAll, type LaunchedProcesses } from './launched-processes.ts';
import { describeListener, isListening, listenersOn, listeningIdentity } from './listening.ts';
import type { LogTail } from './log-tail.ts';
import { commandOf, isAlive, type ProcessId, variableOf } from './process-table.ts';
import type { PortOwner, RunningServer, ServerExit, StopProof } from './target.ts';
import type { Watchdog } from './watchdog.ts';

/** How long a stop waits at each step. */
export interface StopLimits {
  /** After SIGTERM: SGLang first finishes what it has accepted, without a limit of its own. */
  readonly stopSeconds: number;
  /** After SIGKILL: a process may be stuck in the GPU driver. */
  readonly killSeconds: number;
}

const POLL_MS = 50;
/** A listening socket goes with its last holder; the kernel may need a moment. */
const PORT_SECONDS = 2;
const WATCHDOG_SECONDS = 5;
const EXIT_MESSAGE_SECONDS = 2;

/** Facts of a launch, from its start. */
export interface LocalLaunch {
  readonly main: ProcessId;
  readonly markerValue: string;
  readonly port: number;
  readonly startedAtMs: number;
}

/** A server on this machine under a watchdog; `target.ts` describes the methods. */
export class LocalServer implements RunningServer {
  readonly pid: number;
  readonly startedAtMs: number;
  readonly exited: Promise<ServerExit>;
  readonly launched: LaunchedProcesses & { readonly main: ProcessId };
  readonly #port: number;
  readonly #watchdog: Watchdog;
  readonly #tail: LogTail;
  readonly #clock: Clock;
  readonly #limits: StopLimits;
  #logBytes = 0;
  #exit: ServerExit | undefined;
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #stopRequested = false;
  #stopping: Promise<StopProof> | undefined;

  constructor(
    launch: LocalLaunch,
    deps: {
      readonly watchdog: Watchdog;
      readonly tail: LogTail;
      readonly clock: Clock;
      readonly limits: StopLimits;
    },
  ) {
    this.pid = launch.main.pid;
    this.startedAtMs = launch.startedAtMs;
    this.launched = { main: launch.main, markerValue: launch.markerValue };
    this.#port = launch.port;
    this.#watchdog = deps.watchdog;
    this.#tail = deps.tail;
    this.#clock = deps.clock;
    this.#limits = deps.limits;
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
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

  servingIdentity(): string | undefined {
    return listeningIdentity(this.#port);
  }

  portOwner(): PortOwner {
    return portOwner(this.pid, this.#port);
  }

  commandLine(): readonly string[] | undefined {
    const pid = this.#servingPid();
    return pid === undefined ? undefined : commandOf(pid);
  }

  variable(name: string): string | null | undefined {
    const pid = this.#servingPid();
    return pid === undefined ? undefined : variableOf(pid, name);
  }

  /** The process of this launch that listens; a wrapper may have started it. */
  #servingPid(): number | undefined {
    if (this.portOwner() !== 'ours') return undefined;
    return listenersOn(this.#port).find(({ pid }) => pid !== undefined)?.pid;
  }

  /** For the target: the server printed. */
  noteLog(bytes: number): void {
    this.#logBytes = bytes;
  }

  /** For the target: the main process ended. Only the first note counts. */
  noteExit(end: { readonly code: number | null; readonly signal: NodeJS.Signals | null }): void {
    if (this.#exit !== undefined) return;
    this.#exit = { code: end.code, signal: end.signal, requested: this.#stopRequested };
    this.#resolveExited(this.#exit);
  }

  /** For the target: the watchdog died, and with it the reader of the server's output. */
  async endWithoutWatchdog(): Promise<void> {
    try {
      await killAll(this.launched, this.#clock, this.#limits.killSeconds);
    } finally {
      this.noteExit({ code: null, signal: 'SIGKILL' });
    }
  }

  stop(): Promise<StopProof> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(): Promise<StopProof> {
    const startedMs = this.#clock.nowMs();
    let survivors: string[];
    try {
      survivors = await this.#endEverything();
    } catch (error) {
      // A stop that fails must reach the loop as a fact about the machine, not as an exception.
      survivors = [`the stop failed: ${error instanceof Error ? error.message : String(error)}`];
    }
    this.noteExit({ code: null, signal: null });
    const seconds = (this.#clock.nowMs() - startedMs) / 1000;
    return { clean: survivors.length === 0, seconds, survivors };
  }

  async #endEverything(): Promise<string[]> {
    const { main } = this.launched;
    if (isAlive(main)) {
      this.#stopRequested = true;
      askToEnd(main);
      await this.#until(() => !isAlive(main), this.#limits.stopSeconds);
    }
    const survivors = await killAll(this.launched, this.#clock, this.#limits.killSeconds);
    if (survivors.length === 0) await this.#until(() => !isListening(this.#port), PORT_SECONDS);
    const holders = listenersOn(this.#port).map(
      (listener) => `port ${this.#port} is held by ${describeListener(listener)}`,
    );
    await this.#endWatchdog(survivors.length === 0);
    return [...survivors, ...holders];
  }

  /** With survivors the watchdog goes on trying by itself; it is not waited for. */
  async #endWatchdog(wait: boolean): Promise<void> {
    // Its last message carries the exit status.
    await this.#until(() => this.#exit !== undefined, wait ? EXIT_MESSAGE_SECONDS : 0);
    this.noteExit({ code: null, signal: null });
    this.#watchdog.dismiss();
    if (!wait) return;
    let gone = false;
    void this.#watchdog.ended.then(() => {
      gone = true;
    });
    if (await this.#until(() => gone, WATCHDOG_SECONDS)) return;
    this.#watchdog.kill();
    await this.#watchdog.ended;
  }

  /** Waits until `done`, at most so long; returns whether it was. */
  async #until(done: () => boolean, seconds: number): Promise<boolean> {
    const deadlineMs = this.#clock.nowMs() + seconds * 1000;
    while (!done()) {
      if (this.#clock.nowMs() >= deadlineMs) return false;
      await this.#clock.sleep(POLL_MS);
    }
    return true;
  }
}
