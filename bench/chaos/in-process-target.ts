import type { Clock } from '../../src/clock.ts';
import { UserError } from '../../src/errors.ts';
import { listeningIdentity } from '../../src/server/listening.ts';
import type { LaunchRequest, RunningServer, ServerExit, Target } from '../../src/server/target.ts';
import { findLaunchProgram } from '../../src/sglang/launch-program.ts';
import { type StartedSimulator, startSimulator } from '../../src/simulator/main.ts';
import type { Failure } from './failures.ts';

/** Servers that run, over all sweeps of this process: empty when a sweep has cleaned up. */
export class LiveServers {
  readonly #ports = new Set<string>();
  add(baseUrl: string): void {
    this.#ports.add(baseUrl);
  }
  delete(baseUrl: string): void {
    this.#ports.delete(baseUrl);
  }
  runs(baseUrl: string): boolean {
    return this.#ports.has(baseUrl);
  }
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Simulated servers inside this process: a thousand sweeps would else spend their time on starting
 * programs. Real processes, their groups and their leftovers are the business of the tests of
 * `src/server`.
 */
export function inProcessTarget(
  clock: Clock,
  stopSeconds: number,
  live: LiveServers,
  /** What goes wrong around the current server. */
  trouble: () => Failure['outside'],
): Target {
  return {
    start: (request) =>
      trouble() === 'start-refused'
        ? Promise.reject(new UserError('the port is taken'))
        : Promise.resolve(startServer(request, clock, stopSeconds, live, trouble)),
    cleanUp: () => Promise.resolve([]),
  };
}

function startServer(
  request: LaunchRequest,
  clock: Clock,
  stopSeconds: number,
  live: LiveServers,
  trouble: () => Failure['outside'],
): RunningServer {
  const { simulator, refusal } = begin(request);
  if (simulator !== undefined) live.add(request.baseUrl);
  const text = () => simulator?.output() ?? refusal;
  let exit: ServerExit | undefined;
  let stopRequested = false;
  const ended: Promise<Ended> =
    simulator === undefined
      ? Promise.resolve({ code: 2, signal: null })
      : simulator.ended.then((end) =>
          end === 'SIGKILL' ? { code: null, signal: 'SIGKILL' } : { code: end, signal: null },
        );
  const exited = ended.then((how) => {
    live.delete(request.baseUrl);
    exit = { ...how, requested: stopRequested };
    return exit;
  });
  const stop = async () => {
    const startedAtMs = clock.nowMs();
    if (exit === undefined) stopRequested = true;
    simulator?.terminate();
    await Promise.race([exited, clock.sleep(stopSeconds * 1000)]);
    await simulator?.kill();
    await exited;
    if (trouble() === 'stop-fails') throw new UserError('the link broke');
    const survivors = trouble() === 'never-stops' ? ['pid 4242'] : [];
    const seconds = (clock.nowMs() - startedAtMs) / 1000;
    return { clean: survivors.length === 0, seconds, survivors };
  };
  return {
    pid: process.pid,
    startedAtMs: clock.nowMs(),
    exit: () => exit,
    exited,
    logTail: (lines) => text().split('\n').filter(Boolean).slice(-lines),
    logBytes: () => text().length,
    servingIdentity: () => listeningIdentity(Number(new URL(request.baseUrl).port)),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

function begin({ argv, environment }: LaunchRequest): {
  readonly simulator: StartedSimulator | undefined;
  readonly refusal: string;
} {
  const end = findLaunchProgram(argv)?.end ?? 0;
  try {
    return { simulator: startSimulator(argv.slice(end), environment), refusal: '' };
  } catch (error) {
    const refusal = error instanceof Error ? error.message.replace(/^exit \d+: /, '') : '';
    return { simulator: undefined, refusal };
  }
}
