import { EndOfSweepError, UserError } from '../errors.ts';
import { listEntries } from '../service-file/merge.ts';
import { readService, requireSglangLaunch } from '../service-file/read-service.ts';
import type { ReadServiceOptions, Service } from '../service-file/service.ts';
import { expandSpecifiers, nameSpecifiers } from '../service-file/specifiers.ts';
import { parseUnitText } from '../service-file/unit-text.ts';
import { type SystemdAccess, systemdWords } from './systemd-access.ts';
import { runs } from './systemd-proof.ts';
import { readUnitFiles, showUnit, type UnitFile } from './systemd-unit-state.ts';

/** The production unit as systemd runs it: unit file, drop-ins and environment files merged. */
export interface SystemdService {
  readonly service: Service;
  /** What the service was read with; writing it back needs the same. */
  readonly options: ReadServiceOptions;
  /** The unit file, then its drop-ins, as they lie on the target. */
  readonly files: readonly UnitFile[];
  /** Complete environment of the process; may hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the running process says of itself; undefined when none runs. */
  readonly runningArgv: readonly string[] | undefined;
  /** False: it was edited and not restarted, or something rewrites its command. */
  readonly runsAsWritten: boolean;
}

const COMMAND_LIMIT_MS = 30_000;

/**
 * Reads the unit from the target.
 *
 * @throws UserError for a unit that does not exist, cannot be read, or starts a script, a shell
 *   line or a container instead of SGLang itself, with what to do.
 */
export async function readSystemdService(access: SystemdAccess): Promise<SystemdService> {
  const state = await showUnit(access);
  const files = await readUnitFiles(access, state);
  const environmentFiles = await readEnvironmentFiles(access, files);
  const inherited = await managerEnvironment(access);
  const read = (inheritedEnvironment: Readonly<Record<string, string>>) => {
    const options: ReadServiceOptions = {
      unitName: access.unit,
      inheritedEnvironment,
      readEnvironmentFile: (path) => environmentFiles.get(path),
    };
    return { options, service: readService(files, options) };
  };
  const first = read(inherited);
  // The user's variables are known only once the unit has told its user.
  const account = await userEnvironment(access, first.service.user);
  const { options, service } = read({ ...inherited, ...account });
  requireSglangLaunch(service);
  const cmdline = await readCommandLine(access, state.mainPid);
  const runningArgv =
    state.mainPid === 0 || cmdline === undefined || cmdline === ''
      ? undefined
      : cmdline.replace(/\0$/, '').split('\0');
  return {
    service,
    options,
    files,
    environment: { ...inherited, ...account, ...service.environment },
    runningArgv,
    runsAsWritten: runningArgv === undefined || runs(runningArgv, service.argv),
  };
}

/** Undefined for a process that is gone, or that another user hides: then nothing is compared. */
async function readCommandLine(access: SystemdAccess, pid: number): Promise<string | undefined> {
  try {
    return await access.host.readText(`/proc/${pid}/cmdline`);
  } catch (error) {
    if (error instanceof UserError && !(error instanceof EndOfSweepError)) return undefined;
    throw error;
  }
}

/** Texts of the files of `EnvironmentFile=`, by path; those that do not exist are left out. */
async function readEnvironmentFiles(
  access: SystemdAccess,
  files: readonly UnitFile[],
): Promise<ReadonlyMap<string, string>> {
  const units = files.map(({ text, path }) => parseUnitText(text, path));
  const found = new Map<string, string>();
  for (const { entry } of listEntries(units, 'EnvironmentFile')) {
    const value = entry.value.replace(/^-/, '');
    const path = expandSpecifiers(value, nameSpecifiers(access.unit)).text;
    if (path === access.paths.environment) continue;
    const text = await access.root.readText(path);
    if (text !== undefined) found.set(path, text);
  }
  return found;
}

/** What systemd hands to every service: PATH, LANG. */
async function managerEnvironment(access: SystemdAccess): Promise<Record<string, string>> {
  const result = await access.host.run({
    argv: systemdWords(access, 'systemctl', 'show-environment'),
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const entries = result.stdout.split('\n').flatMap((line): [string, string][] => {
    const equals = line.indexOf('=');
    const value = line.slice(equals + 1);
    // A value in $'...' holds characters that no PATH has; the process's own would be wrong.
    return equals <= 0 || value.startsWith("$'") ? [] : [[line.slice(0, equals), value]];
  });
  return Object.fromEntries(entries);
}

/** What systemd adds for a unit with `User=` (systemd.exec(5)); empty without it. */
async function userEnvironment(
  access: SystemdAccess,
  user: string | undefined,
): Promise<Record<string, string>> {
  if (user === undefined || user === '') return {};
  const result = await access.host.run({
    argv: ['getent', 'passwd', '--', user],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const [name, , , , , home, shell] = result.stdout.trim().split(':');
  if (name === undefined || name === '' || home === undefined) {
    throw new UserError(`${access.host.name} has no user ${user}, as which ${access.unit} runs`);
  }
  return { HOME: home, LOGNAME: name, USER: name, ...(shell ? { SHELL: shell } : {}) };
}
