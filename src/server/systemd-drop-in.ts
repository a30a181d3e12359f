import { UserError } from '../errors.ts';
import { renderDropIn } from '../service-file/drop-in.ts';
import type { SystemdAccess } from './systemd-access.ts';
import type { LaunchRequest } from './target.ts';

/** What production gets, and what a trial is told apart from. */
export interface ProductionCommand {
  /** Complete environment of production, as the baseline's launch request has it. */
  readonly environment: Readonly<Record<string, string>>;
  /** `-`, `:`, `+`, `!` in front of production's program. */
  readonly prefix?: string;
  /** Variables that the unit's `UnsetEnvironment=` takes away. */
  readonly unset?: readonly string[];
}

/** Variables that differ from production's. */
export interface EnvironmentChange {
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
}

/** The two texts that put a launch into force. */
export interface TrialFiles {
  readonly dropIn: string;
  readonly environment: string;
}

/** What a launch's environment adds to, changes in and takes from production's. */
export function environmentChange(
  production: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): EnvironmentChange {
  const set = Object.entries(wanted).filter(([name, value]) => production[name] !== value);
  const unset = Object.keys(production).filter((name) => wanted[name] === undefined);
  return { set: Object.fromEntries(set), unset };
}

/**
 * Drop-in and environment file of a launch.
 *
 * Variables go into a file named last, since `EnvironmentFile=` overrides `Environment=`. systemd
 * must not restart a trial (two servers would mix in one measurement) and must not drop lines of a
 * talkative start-up.
 */
export function trialFiles(
  { paths }: Pick<SystemdAccess, 'paths'>,
  { argv, environment, workingDirectory }: LaunchRequest,
  production: ProductionCommand,
): TrialFiles {
  const change = environmentChange(production.environment, environment);
  const stillUnset = (production.unset ?? []).filter((name) => change.set[name] === undefined);
  const unset = [...new Set([...stillUnset, ...change.unset])];
  for (const name of [...Object.keys(change.set), ...unset]) requireVariableName(name);
  const dropIn = renderDropIn({
    argv,
    prefix: (production.prefix ?? '').replaceAll('@', ''),
    settings: [
      'Restart=no',
      'LogRateLimitIntervalSec=0',
      `EnvironmentFile=${paths.environment.replaceAll('%', '%%')}`,
      'UnsetEnvironment=',
      ...(unset.length === 0 ? [] : [`UnsetEnvironment=${unset.join(' ')}`]),
      ...(workingDirectory === undefined ? [] : [workingDirectoryLine(workingDirectory)]),
    ],
  });
  return { dropIn, environment: environmentFile(change.set) };
}

/** Lines of an environment file that give each value exactly (systemd.exec(5), EnvironmentFile=). */
export function environmentFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (value.includes('\0')) throw new UserError(`variable ${name} holds a zero byte`);
      return `${name}="${value.replaceAll(/["\\`$]/g, '\\$&')}"\n`;
    })
    .join('');
}

function requireVariableName(name: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw new UserError(`${JSON.stringify(name)} is not a name that systemd takes for a variable`);
}

function workingDirectoryLine(path: string): string {
  if (!path.startsWith('/') || /[\n\0]/.test(path)) {
    throw new UserError(`${JSON.stringify(path)} is not a working directory that systemd takes`);
  }
  return `WorkingDirectory=${path.replaceAll('%', '%%')}`;
}
