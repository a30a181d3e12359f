import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The built program; `npm test` builds it first. NIGHTSWEEP_CLI names another build. */
export const MAIN =
  process.env['NIGHTSWEEP_CLI'] ??
  fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface CliResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** What it has printed on standard output so far. */
  output(): string;
  readonly result: Promise<CliResult>;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts the built command line; its output is collected. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, NO_COLOR: '1', ...options.environment },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const { pid } = child;
  if (pid === undefined) throw new Error('the command line did not start');
  return {
    pid,
    kill: (signal) => child.kill(signal),
    output: () => stdout,
    result: once(child, 'close').then(() => ({
      exitCode: child.exitCode,
      signal: child.signalCode,
      stdout,
      stderr,
    })),
  };
}

/** Runs the built command line to its end. */
export async function runCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  return startCli(args, options).result;
}
