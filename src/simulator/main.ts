import { randomInt } from 'node:crypto';
import type { SimulatorIo } from './io.ts';
import { prepareLaunch, SGLANG_VERSION } from './launch.ts';
import { ServerLog } from './log.ts';
import { type SimulatedEnd, SimulatedServer } from './simulated-server.ts';
import { SWITCH_HELP } from './switches.ts';

/** The process around a simulated server: its signals and its own death. */
export interface SimulatorProcess {
  readonly environment: Readonly<Record<string, string>>;
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): void;
  /** Dies at once with this signal, as by default. Never returns in a real process. */
  die(signal: 'SIGTERM' | 'SIGKILL'): void;
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
}

const thisProcess: SimulatorProcess = {
  environment: ownEnvironment(),
  on: (signal, listener) => {
    process.on(signal, listener);
  },
  die: (signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  },
};

/** Help of the simulator's own switches, printed after SGLang's. */
function switchHelpText(): string {
  const lines = SWITCH_HELP.map(({ name, value, text }) => {
    const head = `  --${name}${value === '' ? '' : ` ${value}`}`;
    return head.length < 36 ? `${head.padEnd(36)}${text}` : `${head}\n${' '.repeat(36)}${text}`;
  });
  // The planner reads the version here, as it asks a real installation's Python for it.
  return `\nsimulator switches (nightsweep simulate, SGLang ${SGLANG_VERSION}):\n${lines.join('\n')}\n`;
}

/**
 * Runs a simulated SGLang server with SGLang's own command line, in place of
 * `python3 -m sglang.launch_server`, until it ends.
 *
 * @returns the exit code; where SGLang kills itself, this process gets SIGKILL instead
 * @throws UserError for a mistake in the simulator's own switches
 */
export async function runSimulator(
  argv: readonly string[],
  io: SimulatorIo,
  host: SimulatorProcess = thisProcess,
): Promise<number> {
  const prepared = prepareLaunch(argv, host.environment, randomInt(2 ** 31));
  if (prepared.state === 'exit') {
    const log = new ServerLog(io, 1);
    for (const line of prepared.log) log.main(line);
    if (prepared.stderr !== '') io.stderr.write(prepared.stderr);
    if (prepared.stdout !== '') io.stdout.write(prepared.stdout + switchHelpText());
    return prepared.code;
  }
  const server = new SimulatedServer(prepared.launch, io);
  host.on('SIGTERM', () => {
    if (server.diesOnSigterm) host.die('SIGTERM');
    else server.terminate();
  });
  host.on('SIGINT', () => {
    server.interrupt();
  });
  const end = await server.run();
  if (end === 'SIGKILL') {
    host.die('SIGKILL');
    return 137;
  }
  return end;
}

/** A simulated server inside this process, for tests. */
export interface StartedSimulator {
  /** Resolves with the base URL once the port is bound; rejects when the server ends first. */
  readonly baseUrl: Promise<string>;
  readonly ended: Promise<SimulatedEnd>;
  /** Everything it printed so far. */
  output(): string;
  terminate(): void;
  /** Ends it at once; resolves when it has. */
  kill(): Promise<void>;
}

/**
 * Starts a simulated server inside this process. Port 0 picks a free port.
 *
 * @throws Error when the command line makes it exit at once
 */
export function startSimulator(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): StartedSimulator {
  const prepared = prepareLaunch(argv, environment, randomInt(2 ** 31));
  if (prepared.state === 'exit') throw new Error(`exit ${prepared.code}: ${prepared.stderr}`);
  let output = '';
  const sink = {
    write: (text: string): void => {
      output += text;
    },
  };
  const server = new SimulatedServer(prepared.launch, { stdout: sink, stderr: sink });
  const ended = server.run();
  const endedFirst = ended.then((end): never => {
    throw new Error(`the simulated server ended with ${end} before it was bound`);
  });
  endedFirst.catch(() => undefined);
  const baseUrl = Promise.race([
    server.bound.then((port) => `http://127.0.0.1:${port}`),
    endedFirst,
  ]);
  baseUrl.catch(() => undefined);
  return {
    baseUrl,
    ended,
    output: () => output,
    terminate: () => {
      server.terminate();
    },
    kill: async () => {
      server.kill();
      await ended;
    },
  };
}
