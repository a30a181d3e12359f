import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What install.sh makes. */
export const installed = {
  python: here('.work/sglang/bin/python'),
  model: here('.work/models/qwen3'),
  shim: here('shim'),
  llamaServer: here('.work/tools/bin/llama-server-vulkan'),
  gguf: here('.work/models/llama.gguf'),
};

/** NIGHTSWEEP_CLI runs the checks on another build, such as an installed package. */
const cli = process.env['NIGHTSWEEP_CLI'] ?? here('../../dist/cli/main.js');

/** Launch command of the real SGLang on the CPU. */
export function sglangCommand(port: number): string[] {
  return [
    ...[installed.python, '-m', 'sglang.launch_server', '--model-path', installed.model],
    ...['--device', 'cpu', '--attention-backend', 'torch_native', '--load-format', 'dummy'],
    ...['--host', '127.0.0.1', '--port', String(port), '--random-seed', '1'],
    ...['--mem-fraction-static', '0.2', '--max-total-tokens', '32768', '--enable-metrics'],
  ];
}

/** Its environment; `mark` finds its processes again. */
export function sglangEnvironment(mark: string): Record<string, string> {
  return {
    SGLANG_USE_CPU_ENGINE: '1',
    PYTHONPATH: installed.shim,
    HF_HUB_OFFLINE: '1',
    PYTHONDONTWRITEBYTECODE: '',
    // The model is tiny: threads that wait for each other on a busy machine cost ten times more.
    OMP_NUM_THREADS: '1',
    OMP_WAIT_POLICY: 'PASSIVE',
    [MARK]: mark,
  };
}

const MARK = 'NIGHTSWEEP_REAL_TEST';

export function newMark(): string {
  return randomUUID();
}

/** Pids of running processes whose environment holds the mark. */
export function processesOf(mark: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => environmentOf(pid).includes(`${MARK}=${mark}`)).map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    // Ended meanwhile, a zombie, or another user's: none of ours in any case.
    return '';
  }
}

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line; never throws for an exit code. */
export async function nightsweep(...args: string[]): Promise<CliResult> {
  if (!existsSync(cli)) throw new Error(`${cli} is missing: npm run build`);
  try {
    const options = { maxBuffer: 64 * 2 ** 20 };
    const { stdout, stderr } = await run(process.execPath, [cli, ...args], options);
    return { code: 0, stdout, stderr };
  } catch (error) {
    const failed = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof failed.code !== 'number') throw error;
    return { code: failed.code, stdout: failed.stdout ?? '', stderr: failed.stderr ?? '' };
  }
}

/** A real llama-server with four slots; disposing ends it. */
export async function startLlamaServer(): Promise<AsyncDisposable & { baseUrl: string }> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const args = ['-m', installed.gguf, '--host', '127.0.0.1', '--port', String(port)];
  const slots = ['-c', '16384', '-np', '4', '-t', '2', '--device', 'none', '--metrics'];
  const server = spawn(installed.llamaServer, [...args, ...slots], {
    stdio: 'ignore',
    // The wheel starts it through a Python script: the group holds both.
    detached: true,
  });
  const ended = new Promise<void>((resolve) =>
    server.once('exit', () => {
      resolve();
    }),
  );
  const stop = async () => {
    if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGTERM');
    await ended;
  };
  for (let attempt = 0; attempt < 120; attempt += 1) {
    if (server.exitCode !== null) throw new Error(`llama-server ended with ${server.exitCode}`);
    if (await isHealthy(baseUrl)) return { baseUrl, [Symbol.asyncDispose]: stop };
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await stop();
  throw new Error('llama-server was not ready within a minute');
}

async function isHealthy(baseUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${baseUrl}/health`)).ok;
  } catch {
    return false;
  }
}
