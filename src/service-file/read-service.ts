import { UserError } from '../errors.ts';
import {
  findLaunchProgram,
  type UnknownProgram,
  unknownProgram,
} from '../sglang/launch-program.ts';
import { readCommand } from './command.ts';
import { readEnvironment } from './environment.ts';
import { lastEntry } from './merge.ts';
import type { ReadServiceOptions, Service, ServiceWarning, UnitSource } from './service.ts';
import { expandSpecifiers, nameSpecifiers, type Specifiers } from './specifiers.ts';
import { parseUnitText, type UnitText } from './unit-text.ts';

/**
 * Reads a service as systemd would start it: the unit and its drop-ins (in the order of
 * `systemctl cat`), environment files, specifiers and variables.
 *
 * @throws UserError for a unit that systemd would refuse or whose command cannot be known:
 *   no or several commands, shell syntax, a missing environment file, `User=%i` without a template.
 */
export function readService(sources: readonly UnitSource[], options: ReadServiceOptions): Service {
  const files = sources.map(({ text, path }) => parseUnitText(text, path));
  const specifiers = { ...nameSpecifiers(options.unitName), ...options.specifiers };
  refuseInstanceOfNoTemplate(files, options.unitName);
  const environment = readEnvironment(
    files,
    specifiers,
    options.readEnvironmentFile ?? (() => undefined),
  );
  const command = readCommand(files, specifiers, {
    ...options.inheritedEnvironment,
    ...environment.environment,
  });
  const workingDirectory = setting(files, 'WorkingDirectory', specifiers);
  const user = setting(files, 'User', specifiers);
  return {
    unitName: options.unitName,
    files,
    argv: command.argv,
    command: command.command,
    environment: environment.environment,
    variables: environment.variables,
    unset: environment.unset,
    ...(workingDirectory === undefined ? {} : { workingDirectory }),
    ...(user === undefined ? {} : { user }),
    warnings: [...textWarnings(files), ...environment.warnings, ...command.warnings],
  };
}

/**
 * Refuses a service that does not start SGLang itself.
 *
 * @throws UserError naming what `ExecStart` starts instead and what to do.
 */
export function requireSglangLaunch(service: Service): void {
  if (findLaunchProgram(service.argv) !== undefined) return;
  const { command, files, argv } = service;
  const where = `${files[command.file]?.path ?? ''}:${command.entry.firstLine + 1}`;
  const { what, hint } = REFUSALS[unknownProgram(argv)];
  const shown = argv.slice(0, 3).join(' ');
  throw new UserError(`${where}: ExecStart starts ${what} ("${shown}"), not SGLang itself`, {
    hint,
  });
}

const REFUSALS: Readonly<Record<UnknownProgram, { readonly what: string; readonly hint: string }>> =
  {
    container: {
      what: 'a container',
      hint: 'The flags belong to the command inside. Tune that command with target.command inside the container, and put the winning flags behind the image name.',
    },
    shell: {
      what: 'a shell command line',
      hint: 'Write the server command itself into ExecStart (systemd sets variables with Environment=), or give it as target.command.',
    },
    script: {
      what: 'a script',
      hint: 'The flags are in the script. Write its last command into ExecStart, or give that command as target.command and put the winning flags into the script.',
    },
    other: {
      what: 'another program',
      hint: 'nightsweep needs `python3 -m sglang.launch_server ...` or `sglang serve ...` in ExecStart.',
    },
  };

function setting(
  files: readonly UnitText[],
  key: string,
  specifiers: Specifiers,
): string | undefined {
  const found = lastEntry(files, key)?.entry.value;
  return found === undefined ? undefined : expandSpecifiers(found, specifiers).text;
}

/** systemd refuses `User=%i` in a unit that is no instance: the name would be empty. */
function refuseInstanceOfNoTemplate(files: readonly UnitText[], unitName: string): void {
  if (unitName.includes('@')) return;
  for (const key of ['User', 'Group']) {
    const found = lastEntry(files, key);
    if (found === undefined || !/%[iI]/.test(found.entry.value)) continue;
    const where = `${files[found.file]?.path ?? ''}:${found.entry.firstLine + 1}`;
    throw new UserError(
      `${where}: ${key}=${found.entry.value} is empty, since ${unitName} is not an instance of a template`,
      {
        hint: `Name the user, or install the unit as ${unitName.replace('.service', '@.service')}.`,
      },
    );
  }
}

function textWarnings(files: readonly UnitText[]): ServiceWarning[] {
  return files.flatMap(({ path, warnings }) => warnings.map((warning) => ({ ...warning, path })));
}
