import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A program that runs in a terminal of its own, as far as it can tell. */
export interface Terminal extends AsyncDisposable {
  /** Types the text as it is; `\t` and `\n` are keys. */
  type(text: string): void;
  /** Waits until all it has printed so far, escape sequences left out, holds the text. */
  shows(text: string): Promise<void>;
  /** Everything printed so far, without escape sequences. */
  output(): string;
  /** Exit code, once it has ended. */
  readonly ended: Promise<number | null>;
}

export interface TerminalOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Generous: a busy machine starts Node in seconds. */
const WAIT_MS = 60_000;

/** Runs a shell command in a pseudo-terminal, made by script(1). */
export function openTerminal(command: string, options: TerminalOptions = {}): Terminal {
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, TERM: 'dumb', ...options.environment },
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const ended = once(child, 'close').then(() => child.exitCode);
  const output = () => withoutEscapes(printed);
  return {
    type: (text) => child.stdin.write(text),
    output,
    shows: async (text) => {
      const end = Date.now() + WAIT_MS;
      while (!output().includes(text)) {
        if (Date.now() > end) throw new Error(`"${text}" never came; there is:\n${output()}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    ended,
    [Symbol.asyncDispose]: async () => {
      // With script gone its terminal hangs up, which ends what runs in it, whatever it is doing.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function withoutEscapes(text: string): string {
  return text.replaceAll(/\u001b(?:\[[0-9;?]*[A-Za-z]|[=>])/g, '').replaceAll('\r', '');
}
