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
  const version =
    SIMULATED.exec(result.stdout)?.[1] ?? (await readVersion(program, environment, host));
  return { help: parseHelp(result.stdout), text: result.stdout, version };
}

/** What the simulated server prints behind its help. */
const SIMULATED = /nightsweep simulate, SGLang (\d[\w.]*)/;

/** Asks the installation that runs the server which SGLang it would import. */
async function readVersion(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
  host: Host,
): Promise<string | null> {
  const argv = versionCommand(program);
  if (argv === undefined) return null;
  const result = await host.run({ argv, environment, timeoutMs: VERSION_TIMEOUT_MS });
  const version = /(?:^|version: )(\d+\.\d+[\w.+]*)\s*$/m.exec(result.stdout)?.[1];
  return result.exitCode === 0 ? (version ?? null) : null;
}

function versionCommand(program: readonly string[]): readonly string[] | undefined {
  if (findLaunchProgram(program) === undefined) return undefined;
  const module = program.indexOf('-m');
  if (module > 0) return [...program.slice(0, module), '-c', PRINT_VERSION];
  const serve = program.lastIndexOf('serve');
  return serve > 0 ? [...program.slice(0, serve), 'version'] : undefined;
}

const PRINT_VERSION = 'from importlib.metadata import version; print(version("sglang"))';
