import type { Study, TargetConfig } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { type Assignment, ENV_PREFIX, type FlagValue } from '../search-space/assignment.ts';
import type { SystemdAccess } from '../server/systemd-access.ts';
import { readSystemdService, type SystemdService } from '../server/systemd-service.ts';
import type { Service, ServiceWarning, UnitSource } from '../service-file/service.ts';
import { requireFlag } from '../sglang/flag-names.ts';
import type { HelpText } from '../sglang/help.ts';
import {
  type LaunchArgs,
  lastOccurrence,
  parseLaunchArgs,
  replaceProgram,
} from '../sglang/launch-args.ts';
import { occurrenceValue } from '../sglang/launch-flags.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';
import { readTargetHelp, type TargetHelp } from './read-help.ts';
import { readUnit } from './read-unit.ts';

/** The server as it runs today, and what its version can do. */
export interface Production extends TargetHelp {
  /** The command that is launched as baseline. */
  readonly argv: readonly string[];
  /** Complete environment of the process; may hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The unit it was read from; undefined for a launch command. */
  readonly service: Service | undefined;
  readonly unitText: string;
  /** The unit as systemd runs it; absent unless the target is a unit. */
  readonly systemd?: SystemdService;
  readonly warnings: readonly ServiceWarning[];
}

/**
 * Reads the production command of a study and asks its server program for the flags it knows.
 *
 * @param unit the unit of a study whose target is one.
 * @throws UserError for a unit or command that cannot be tuned, a program that cannot be asked,
 *   and a base URL whose port is not the server's.
 */
export async function readProduction(
  study: Study,
  host: Host,
  unit?: SystemdAccess,
): Promise<Production> {
  const found = await (unit === undefined ? readCommand(study.target, host) : readRunning(unit));
  const launch = findLaunchProgram(found.argv);
  const own = found.argv.slice(0, launch?.end ?? found.argv.length);
  const program = study.target.program ?? own;
  // Refuses a command without an SGLang launch.
  const argv = replaceProgram(found.argv, program);
  const environment = { ...found.environment, ...study.target.environment };
  const asked = await readTargetHelp(program, environment, host);
  const production = { ...found, ...asked, argv, environment };
  checkPort(study, parseLaunchArgs(argv, asked.help, { version: asked.version ?? undefined }));
  return production;
}

type FoundCommand = Pick<
  Production,
  'argv' | 'environment' | 'workingDirectory' | 'service' | 'unitText' | 'systemd' | 'warnings'
>;

/** Unit file and drop-ins as one text, as `systemctl cat` shows them. */
export function unitTextOf(files: readonly UnitSource[]): string {
  return files.map(({ path, text }) => `# ${path}\n${text.trimEnd()}\n`).join('\n');
}

/** The working directory is absent: it is the unit's own, whatever that is. */
async function readRunning(unit: SystemdAccess): Promise<FoundCommand> {
  const systemd = await readSystemdService(unit);
  const { service, environment, files } = systemd;
  return {
    argv: service.argv,
    environment,
    workingDirectory: undefined,
    service,
    unitText: unitTextOf(files),
    systemd,
    warnings: service.warnings,
  };
}

async function readCommand(target: TargetConfig, host: Host): Promise<FoundCommand> {
  if (target.command !== undefined) {
    return {
      argv: target.command,
      environment: definedOnly(process.env),
      workingDirectory: target.workingDirectory,
      service: undefined,
      unitText: '',
      warnings: [],
    };
  }
  if (target.unitFile === undefined) {
    throw new Error('a target that is a unit is read through systemd');
  }
  const text = await host.readText(target.unitFile);
  if (text === undefined) {
    throw new UserError(`${target.unitFile}: no such unit file on ${host.name}`);
  }
  const { service, environment, workingDirectory } = await readUnit(target.unitFile, text, host);
  return {
    argv: service.argv,
    environment,
    workingDirectory: target.workingDirectory ?? workingDirectory,
    service,
    unitText: text,
    warnings: service.warnings,
  };
}

function definedOnly(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

/** A base URL of another port than the server's would measure somebody else's server. */
function checkPort({ target, path }: Study, args: LaunchArgs): void {
  const port = lastOccurrence(args, 'port')?.values[0] ?? '30000';
  const url = new URL(target.baseUrl);
  const asked = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  if (asked === port) return;
  throw new UserError(
    `${path}: target.base_url ${target.baseUrl} has port ${asked}, but the server listens on ${port}`,
    { hint: 'make base_url and --port of the launch command agree' },
  );
}

/**
 * What production has for the given parameters: the value that counts in its argv, or its
 * environment. Absent flags are null, or false for a parameter that is a boolean flag.
 */
export function productionAssignment(
  { argv, environment, help, version }: Production,
  parameters: Iterable<string>,
): Assignment {
  const args = parseLaunchArgs(argv, help, { version: version ?? undefined });
  return Object.fromEntries(
    [...parameters].map((name) => [name, productionValue(name, args, environment, help, version)]),
  );
}

function productionValue(
  name: string,
  args: LaunchArgs,
  environment: Readonly<Record<string, string>>,
  help: HelpText,
  version: string | null,
): FlagValue {
  if (name.startsWith(ENV_PREFIX)) return environment[name.slice(ENV_PREFIX.length)] ?? null;
  const flag = requireFlag(name, help, version ?? undefined);
  const found = lastOccurrence(args, flag.name);
  if (found === undefined) return flag.takes === 'nothing' ? false : null;
  return occurrenceValue(found);
}
