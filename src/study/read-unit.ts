import { userInfo } from 'node:os';
import { basename } from 'node:path';
import type { Host } from '../host/host.ts';
import { listEntries } from '../service-file/merge.ts';
import { readService, requireSglangLaunch } from '../service-file/read-service.ts';
import type { ReadServiceOptions, Service } from '../service-file/service.ts';
import { expandSpecifiers, nameSpecifiers } from '../service-file/specifiers.ts';
import { parseUnitText } from '../service-file/unit-text.ts';

/** What a systemd system service gets besides its own settings (systemd.exec(5)). */
const SYSTEMD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin';

export interface ReadUnit {
  readonly service: Service;
  /** What the unit was read with; writing it back needs the same. */
  readonly options: ReadServiceOptions;
  /** Complete environment of the process; may hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
}

/**
 * Reads a unit file with its environment files, for a process started by this user.
 *
 * @throws UserError for a unit that systemd would refuse or that does not start SGLang itself.
 */
export async function readUnit(path: string, text: string, host: Host): Promise<ReadUnit> {
  const user = userInfo();
  const inheritedEnvironment = {
    PATH: SYSTEMD_PATH,
    HOME: user.homedir,
    USER: user.username,
    LOGNAME: user.username,
    LANG: 'C.UTF-8',
  };
  const unitName = basename(path);
  const environmentFiles = await readEnvironmentFiles(path, text, unitName, host);
  const options = {
    unitName,
    inheritedEnvironment,
    readEnvironmentFile: (file: string) => environmentFiles.get(file),
  };
  const service = readService([{ path, text }], options);
  requireSglangLaunch(service);
  return {
    service,
    options,
    environment: { ...inheritedEnvironment, ...service.environment },
    workingDirectory: workingDirectoryOf(service, user.homedir),
  };
}

/** Texts of the files of `EnvironmentFile=`, by path; files that do not exist are left out. */
async function readEnvironmentFiles(
  path: string,
  text: string,
  unitName: string,
  host: Host,
): Promise<ReadonlyMap<string, string>> {
  const entries = listEntries([parseUnitText(text, path)], 'EnvironmentFile');
  const found = new Map<string, string>();
  for (const { entry } of entries) {
    const file = expandSpecifiers(entry.value.replace(/^-/, ''), nameSpecifiers(unitName)).text;
    const content = await host.readText(file);
    if (content !== undefined) found.set(file, content);
  }
  return found;
}

/** systemd starts a system service in `/`; a leading `-` only says that it may be missing. */
function workingDirectoryOf(service: Service, home: string): string {
  const given = service.workingDirectory?.replace(/^-/, '');
  return given === '~' ? home : (given ?? '/');
}
