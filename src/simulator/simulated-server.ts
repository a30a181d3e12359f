import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Children } from './children.ts';
import type { ServerFault } from './faults.ts';
import { noteGpuUse } from './gpu-file.ts';
import type { SimulatorIo } from './io.ts';
import type { Launch } from './launch.ts';
import { ServerLog } from './log.ts';
import { FORWARD_FRAMES, PythonError, SCHEDULER_FRAMES, traceback } from './python-error.ts';
import { numberOf, textOf } from './resolution.ts';
import { type Phase, route } from './routes.ts';
import { Runtime } from './runtime.ts';
import { SimClock } from './sim-clock.ts';
import { outOfMemory, SimulatedExitError, StartUp } from './start-up.ts';
import { warmUpOtherServer } from './taken-port.ts';

/** How a simulated server ends: an exit code, or SIGKILL by its own hand as SGLang does. */
export type SimulatedEnd = number | 'SIGKILL';

/** SGLang polls for its last request so often while it drains. */
const DRAIN_POLL_MS = 5000;
/** From the death of the scheduler to the end of the main process. */
const CRASH_MS = 5000;
/** The same after the detokenizer died: it waits for CUDA core dumps. */
const COREDUMP_MS = 65_000;
const RESTART_DOWN_MS = 3000;

/** One launch of the simulated SGLang, from start to end. */
export class SimulatedServer {
  readonly ended: Promise<SimulatedEnd>;
  readonly #launch: Launch;
  readonly #log: ServerLog;
  readonly #clock: SimClock;
  readonly #children = new Children();
  readonly #stop = new AbortController();
  #end: (end: SimulatedEnd) => void = () => undefined;
  #phase: 'starting' | Phase = 'starting';
  #http: Server | undefined;
  #runtime: Runtime | undefined;
  #deafToSigterm = false;
  #bound: (port: number) => void = () => undefined;
  /** Resolves with the bound port, when it is. */
  readonly bound = new Promise<number>((resolve) => {
    this.#bound = resolve;
  });

  constructor(launch: Launch, io: SimulatorIo) {
    this.#launch = launch;
    this.#log = new ServerLog(io, numberOf(launch.fields, 'tp_size') ?? 1);
    this.#clock = new SimClock(launch.switches.speed);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#children.onDeath((name, pid) => {
      this.#childDied(name, pid);
    });
  }

  get phase(): 'starting' | Phase {
    return this.#phase;
  }

  /** True while SIGTERM still has its default effect: SGLang takes it over at its first request. */
  get diesOnSigterm(): boolean {
    return (
      this.#phase === 'starting' && !this.#deafToSigterm && !this.#launch.switches.ignoreSigterm
    );
  }

  /** Starts and serves until the end; errors of the simulated program end it as SGLang ends. */
  async run(): Promise<SimulatedEnd> {
    try {
      await this.#start();
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#startFailed(error);
    }
    return this.ended;
  }

  /** SIGTERM after the first request: drains, however long that takes. */
  terminate(): void {
    if (this.#launch.switches.ignoreSigterm || this.#deafToSigterm) return;
    if (this.#phase === 'draining' || this.#stop.signal.aborted) return;
    this.#phase = 'draining';
    this.#log.main(
      'SIGTERM received. signum=None frame=None. Draining requests and shutting down...',
    );
    this.#drain();
  }

  /** SIGINT: uvicorn shuts down at once. */
  interrupt(): void {
    this.#shutDown();
  }

  /** Ends everything without a word, as SIGKILL does; for tests inside one process. */
  kill(): void {
    this.#finish('SIGKILL');
  }

  async #start(): Promise<void> {
    const { fields, switches, memory } = this.#launch;
    const startUp = new StartUp(this.#launch, this.#log, this.#clock, this.#stop.signal);
    await startUp.readArguments();
    this.#children.startLoading(600 / switches.speed + 60);
    if (switches.gpuFile !== undefined) noteGpuUse(switches.gpuFile, switches.gpuReleaseSeconds);
    const capacity = await startUp.loadScheduler();
    if (memory.state === 'fails') throw memory.error;
    this.#children.startServing(numberOf(fields, 'tp_size') ?? 1);
    this.#runtime = new Runtime(this.#launch, capacity, memory.settings, this.#clock, this.#log);
    this.#runtime.onServerFault = (fault) => {
      this.#onFault(fault);
    };
    this.#log.main(`INFO:     Started server process [${process.pid}]`);
    this.#log.main('INFO:     Waiting for application startup.');
    this.#log.main('INFO:     Application startup complete.');
    await this.#listen();
    this.#phase = 'warming';
    await startUp.warmUp();
    this.#runtime.submitProbe({ ids: [0], kind: 'text', hash: 0 }, () => undefined);
    // A SIGTERM may have come during the warm-up.
    if ((this.#phase as Phase) === 'warming') this.#phase = 'ready';
    this.#log.main('The server is fired up and ready to roll!');
  }

  async #listen(): Promise<void> {
    const { fields } = this.#launch;
    const host = textOf(fields, 'host') ?? '127.0.0.1';
    const port = numberOf(fields, 'port') ?? 30_000;
    const server = createServer({ keepAliveTimeout: 5000 }, (request, response) => {
      if (this.#phase === 'starting' || this.#runtime === undefined) response.destroy();
      else route({ phase: this.#phase, runtime: this.#runtime }, request, response);
    });
    this.#http = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, resolve);
      });
    } catch (error) {
      await this.#portTaken(host, port, error);
      return;
    }
    const bound = (server.address() as AddressInfo).port;
    this.#log.main(`INFO:     Uvicorn running on http://${host}:${bound} (Press CTRL+C to quit)`);
    this.#bound(bound);
  }

  /**
   * A taken port costs a whole start. What follows depends on who answers there: another SGLang
   * makes this one claim to be ready before it dies, a silent listener makes it hang.
   */
  async #portTaken(host: string, port: number, error: unknown): Promise<void> {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    this.#log.main(
      `ERROR:    [Errno 98] error while attempting to bind on address ('${host}', ${port}): address already in use`,
    );
    this.#log.main('INFO:     Waiting for application shutdown.');
    this.#deafToSigterm = true;
    const answer = await warmUpOtherServer(host, port, this.#clock, this.#stop.signal);
    if (answer === 'sglang') {
      this.#log.main('The server is fired up and ready to roll!');
      this.#log.main('INFO:     Application shutdown complete.');
      this.#log.main('Received sigquit from a child process. It usually means the child failed.');
    } else
      this.#log.main(
        'Initialization failed. warmup error: Traceback (most recent call last):\nAssertionError: res=<Response [404]>',
      );
    this.#killSelf();
    await this.#clock.sleep(2 ** 30, this.#stop.signal);
  }

  #startFailed(error: unknown): void {
    if (error instanceof SimulatedExitError) {
      this.#finish(this.#launch.switches.exitCode);
      return;
    }
    if (!(error instanceof PythonError)) {
      this.#log.raw(error instanceof Error ? (error.stack ?? error.message) : String(error));
      this.#finish(1);
      return;
    }
    this.#log.line(`Scheduler hit an exception: ${traceback(error, SCHEDULER_FRAMES)}\n`);
    this.#log.main('Received sigquit from a child process. It usually means the child failed.');
    this.#killSelf();
  }

  #onFault(fault: ServerFault | 'oom'): void {
    if (fault === 'exit') {
      this.#finish(this.#launch.switches.exitCode);
    } else if (fault === 'crash') {
      this.#childDied('scheduler_0', this.#children.schedulerPid ?? 0);
    } else if (fault === 'restart') {
      void this.#restart();
    } else if (fault === 'oom' && this.#runtime?.frozen === false) {
      this.#runtime.freeze();
      const error = new PythonError(
        'RuntimeError',
        `Decode out of memory. Try to lower your batch size.\n${outOfMemory().lastLine()}`,
        outOfMemory().place,
      );
      this.#log.line(`Scheduler hit an exception: ${traceback(error, FORWARD_FRAMES)}\n`);
      this.#log.main(
        'SIGQUIT received. signum=None, frame=None. It usually means one child failed.',
      );
      this.#clock.after(CRASH_MS, () => {
        this.#killSelf();
      });
    }
  }

  /** A dead child takes the server down: streams hang until the main process kills itself. */
  #childDied(name: string, pid: number): void {
    if (this.#stop.signal.aborted) return;
    this.#runtime?.freeze();
    this.#log.main(
      `Subprocess ${name} (pid=${pid}) crashed with exit code -9. Triggering SIGQUIT for cleanup...`,
    );
    if (this.#phase === 'starting') {
      this.#log.main('Received sigquit from a child process. It usually means the child failed.');
      this.#killSelf();
      return;
    }
    this.#log.main('SIGQUIT received. signum=None, frame=None. It usually means one child failed.');
    this.#log.main('Sleeping 5 seconds before crash diagnostics to let GPU activity settle.');
    const waits = name === 'detokenizer' ? COREDUMP_MS : CRASH_MS;
    if (name === 'detokenizer') this.#log.main('Waiting 60.0 seconds for CUDA coredumps');
    this.#clock.after(waits, () => {
      this.#killSelf();
    });
  }

  /** Drops all connections, is away for a moment, and comes back as a new server. */
  async #restart(): Promise<void> {
    this.#phase = 'starting';
    this.#closeHttp();
    this.#runtime?.freeze();
    try {
      await this.#clock.sleep(RESTART_DOWN_MS, this.#stop.signal);
      const { memory } = this.#launch;
      if (memory.state === 'fails') return;
      const switches = { ...this.#launch.switches, restartAtRequest: undefined };
      const launch = { ...this.#launch, switches, seed: this.#launch.seed + 1 };
      this.#runtime = new Runtime(launch, memory.capacity, memory.settings, this.#clock, this.#log);
      await this.#listen();
      this.#phase = 'ready';
      this.#log.main('The server is fired up and ready to roll!');
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#startFailed(error);
    }
  }

  #drain(): void {
    const wait = this.#runtime?.inFlight === 0 ? DRAIN_POLL_MS * 0.8 : DRAIN_POLL_MS;
    this.#clock.after(wait, () => {
      const rids = [...(this.#runtime?.live ?? [])].map((request) => `'${request.id}'`);
      this.#log.main(
        `Gracefully exiting... Remaining number of requests ${rids.length}. Remaining requests remaining_rids=[${rids.join(', ')}].`,
      );
      if (rids.length > 0) this.#drain();
      else this.#shutDown();
    });
  }

  #shutDown(): void {
    this.#log.main(
      `kill_process_tree called: parent_pid=${process.pid}, include_parent=False, pid=${process.pid}`,
    );
    this.#log.main('INFO:     Shutting down');
    this.#log.main('INFO:     Waiting for application shutdown.');
    this.#log.main('INFO:     Application shutdown complete.');
    this.#log.main(`INFO:     Finished server process [${process.pid}]`);
    this.#finish(0);
  }

  #killSelf(): void {
    this.#log.main(
      `kill_process_tree called: parent_pid=${process.pid}, include_parent=True, pid=${process.pid}`,
    );
    this.#finish('SIGKILL');
  }

  #closeHttp(): void {
    this.#http?.close();
    this.#http?.closeAllConnections();
  }

  #finish(end: SimulatedEnd): void {
    if (this.#stop.signal.aborted) return;
    if (this.#launch.switches.leftover) this.#children.leaveBehind();
    this.#stop.abort();
    this.#runtime?.freeze();
    this.#children.stop();
    this.#closeHttp();
    this.#end(end);
  }
}
