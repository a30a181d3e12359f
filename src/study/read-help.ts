import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { type HelpText, parseHelp } from '../sglang/help.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';

/** `--help` imports torch: 7 s on a quiet machine, minutes on a cold disk. */
const HELP_TIMEOUT_MS = 300_000;
const VERSION_TIMEOUT_MS = 60_000;

export interface TargetHelp {
  readonly help: HelpText;
  readonly text: string;
  /** SGLang's version; null when the target does not say before a start. */
  readonly version: string | null;
}

/**
 * Asks the target's own server program for its flags and its version.
 *
 * @param program argv in front of SGLang's flags.
 * @throws UserError when the program cannot be run or prints no help.
 */
export async function readTargetHelp(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
  host: Host,
): Promise<TargetHelp> {
  const argv = [...program, '--help'];
  const result = await host.run({ argv, environment, timeoutMs: HELP_TIMEOUT_MS });
  if (result.timedOut || result.exitCode !== 0) {
    const last = result.stderr.trim().split('\n').at(-1) ?? '';
    throw new UserError(
      `${argv.join(' ')} on ${host.name} ${result.timedOut ? `did not end within ${String(HELP_TIMEOUT_MS / 1000)} s` : `failed with exit code ${String(result.exitCode)}`}`,
      {
        ...(last === '' ? {} : { cause: new Error(last) }),
        hint: 'nightsweep checks every flag against the help text of the server it tunes',
      },
    );
  }
  const version = await readVersion(program, environment, host);
  return { help: parseHelp(result.stdout), text: result.stdout, version };
}

/** Asks the Python that runs the server which SGLang it would import. */
async function readVersion(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
  host: Host,
): Promise<string | null> {
  const module = program.indexOf('-m');
  if (module < 1 || findLaunchProgram(program) === undefined) return null;
  const code = 'from importlib.metadata import version; print(version("sglang"))';
  const argv = [...program.slice(0, module), '-c', code];
  const result = await host.run({ argv, environment, timeoutMs: VERSION_TIMEOUT_MS });
  const version = result.stdout.trim();
  return result.exitCode === 0 && /^\d+\.\d+/.test(version) ? version : null;
}
