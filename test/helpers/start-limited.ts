import { execa } from 'execa';
import { MAIN } from './run-cli.ts';

/** Runs the built command line with at most so many open files. */
export async function startLimited(
  files: number,
  args: readonly string[],
): Promise<{ readonly exitCode: number | undefined; readonly stderr: string }> {
  const limit = `ulimit -n ${String(files)}; exec "$@"`;
  const { exitCode, stderr } = await execa(
    'sh',
    ['-c', limit, 'sh', process.execPath, MAIN, ...args],
    {
      reject: false,
    },
  );
  return { exitCode, stderr };
}
