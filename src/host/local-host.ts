import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { execa } from 'execa';
import { UserError } from '../errors.ts';
import { BoundedOutput } from './bounded-output.ts';
import type { CommandRequest, CommandResult, Host } from './host.ts';

const DEFAULT_MAX_OUTPUT_BYTES = 8 * 1024 * 1024;

/** How long after a command's end its output is still read although someone holds the pipe. */
const OUTPUT_GRACE_MS = 500;

/** This machine. Commands run without a shell, each in a process group of its own. */
export const localHost: Host = { name: 'this machine', run, readText, writeText };

async function run(request: CommandRequest): Promise<CommandResult> {
  const [file, ...args] = request.argv;
  if (file === undefined) throw new Error('a command needs a program');
  const maxBytes = request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  const stdout = new BoundedOutput(maxBytes);
  const stderr = new BoundedOutput(maxBytes);
  let timedOut = false;

  const command = execa(file, args, {
    ...(request.environment === undefined
      ? {}
      : { env: { ...request.environment }, extendEnv: false }),
    input: request.input ?? '',
    buffer: false,
    reject: false,
    // Its own group, so that a time-out reaches its children and a terminal's Ctrl-C does not.
    detached: true,
    cleanup: false,
  });
  command.stdout.on('data', (chunk: Buffer) => {
    stdout.add(chunk);
  });
  command.stderr.on('data', (chunk: Buffer) => {
    stderr.add(chunk);
  });
  const dropPipes = () => {
    command.stdout.destroy();
    command.stderr.destroy();
  };
  // A child left in the background may hold the pipes for ever, and execa waits for their end.
  let grace: NodeJS.Timeout | undefined;
  command.once('exit', () => {
    grace = setTimeout(dropPipes, OUTPUT_GRACE_MS);
  });
  const timer = setTimeout(() => {
    timedOut = true;
    if (command.pid !== undefined) killGroup(command.pid);
  }, request.timeoutMs);
  const result = await command;
  clearTimeout(timer);
  clearTimeout(grace);

  if (result.code === 'ENOENT' || result.code === 'EACCES') {
    const why = result.code === 'ENOENT' ? 'command not found' : 'permission denied';
    return {
      exitCode: result.code === 'ENOENT' ? 127 : 126,
      signal: null,
      timedOut: false,
      stdout: '',
      stderr: `${file}: ${why}`,
      truncated: false,
    };
  }
  return {
    exitCode: command.exitCode,
    signal: command.signalCode,
    timedOut,
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.truncated || stderr.truncated,
  };
}

/** Kills a group that we made (`detached`, so its id is the pid); one already gone is fine. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new UserError(`cannot read ${path}`, { cause: error });
  }
}

async function writeText(
  path: string,
  text: string,
  { mode = 0o644 }: { readonly mode?: number } = {},
): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(draft, text, { mode });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw new UserError(`cannot write ${path}`, { cause: error });
  }
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
