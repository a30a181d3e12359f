import { type ChildProcess, spawn } from 'node:child_process';

/**
 * The processes SGLang has beside its main one, as cheap shells with the right names.
 *
 * While loading they outlive the main process, as SGLang's do before they ask to die with their
 * parent; afterwards they hold a pipe and end with it, however it ends.
 */
export class Children {
  #processes: ChildProcess[] = [];
  #onDeath: ((name: string, pid: number, signal: string) => void) | undefined;

  /** Children during start-up: orphans if the main process dies now. `seconds` bounds their life. */
  startLoading(seconds: number): void {
    const life = String(Math.ceil(seconds));
    this.#processes = ['python', 'python'].map((name) =>
      spawn('/bin/sh', ['-c', `exec sleep ${life}`], { argv0: name, stdio: 'ignore' }),
    );
    this.#watch(['scheduler_0', 'detokenizer']);
  }

  /** Replaces them by children that end with this process. */
  startServing(tensorParallel: number): void {
    this.stop();
    const scheduler = tensorParallel > 1 ? 'sglang::scheduler_TP0' : 'sglang::scheduler';
    this.#processes = [scheduler, 'sglang::detokenizer'].map((name) =>
      spawn('/bin/sh', ['-c', 'read line'], { argv0: name, stdio: ['pipe', 'ignore', 'ignore'] }),
    );
    this.#watch(['scheduler_0', 'detokenizer']);
  }

  /** A process that stays behind and ignores SIGTERM, for the tuner to find. */
  leaveBehind(): void {
    const script = 'trap "" TERM INT HUP; while :; do sleep 1; done';
    const child = spawn('/bin/sh', ['-c', script], {
      argv0: 'sglang::scheduler_TP1',
      stdio: 'ignore',
    });
    child.unref();
  }

  /** Called when a child dies that was not stopped here. */
  onDeath(listener: (name: string, pid: number, signal: string) => void): void {
    this.#onDeath = listener;
  }

  get schedulerPid(): number | undefined {
    return this.#processes[0]?.pid;
  }

  stop(): void {
    const stopped = this.#processes;
    this.#processes = [];
    for (const child of stopped) {
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
    }
  }

  #watch(names: readonly string[]): void {
    this.#processes.forEach((child, i) => {
      // A missing shell must not take the simulator down: it then runs without children.
      child.on('error', () => undefined);
      child.stdin?.on('error', () => undefined);
      child.on('exit', (_code, signal) => {
        if (this.#processes.includes(child)) {
          this.#onDeath?.(names[i] ?? '', child.pid ?? 0, signal ?? 'exit');
        }
      });
    });
  }
}
