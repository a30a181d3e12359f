import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { quote } from 'shlex';

export interface TerminalOptions {
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** What is typed once a text has been printed. */
  readonly type?: { readonly after: string; readonly text: string };
}

/** Runs a command on a terminal of its own, which closes when the command ends; returns what it printed. */
export async function onTerminal(
  argv: readonly string[],
  { cwd, environment, type }: TerminalOptions,
): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const command = argv.map((word) => quote(word)).join(' ');
  const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1', SHELL: '/bin/sh', ...environment },
  });
  let output = '';
  let isTyped = false;
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (type === undefined || isTyped || !output.includes(type.after)) return;
    isTyped = true;
    terminal.stdin.write(type.text);
  });
  await once(terminal, 'close');
  return { exitCode: terminal.exitCode, output };
}
