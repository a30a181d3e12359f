import { createHash } from 'node:crypto';
import { UserError } from '../errors.ts';
import { DROP_IN_NAME, type SystemdAccess, systemdWords } from './systemd-access.ts';

/** What `systemctl show` says about a unit, as far as a sweep needs it. */
export interface UnitState {
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  /** `enabled`, `disabled`, `static` …; empty when there is no unit file. */
  readonly unitFileState: string;
  readonly fragmentPath: string;
  readonly dropInPaths: readonly string[];
  /** 0 while nothing runs. */
  readonly mainPid: number;
  /** The last main process, also when it has ended. */
  readonly lastMainPid: number;
  /** 32 hexadecimal digits, new at each start; empty before the first. */
  readonly invocationId: string;
  readonly controlGroup: string;
  readonly type: string;
  /** `success`, `exit-code`, `signal`, `oom-kill`, `start-limit-hit` … */
  readonly result: string;
  /** 1 exited, 2 killed, 3 dumped core (the CLD_ codes); 0 when nothing has ended. */
  readonly endedHow: number;
  /** Exit code, or number of the signal. */
  readonly endedStatus: number;
  /** A start or stop is under way. */
  readonly hasJob: boolean;
  /** Unit files were edited since systemd last read them. */
  readonly needsReload: boolean;
}

const PROPERTIES = [
  'LoadState',
  'ActiveState',
  'SubState',
  'UnitFileState',
  'FragmentPath',
  'DropInPaths',
  'MainPID',
  'ExecMainPID',
  'InvocationID',
  'ControlGroup',
  'Type',
  'Result',
  'ExecMainCode',
  'ExecMainStatus',
  'Job',
  'NeedDaemonReload',
];

const COMMAND_LIMIT_MS = 30_000;

/** Reads `NAME=value` lines; an absent property is empty. */
export function parseShow(text: string): UnitState {
  const values = new Map(
    text.split('\n').map((line) => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals), line.slice(equals + 1)] as const;
    }),
  );
  const of = (name: string) => values.get(name) ?? '';
  return {
    loadState: of('LoadState'),
    activeState: of('ActiveState'),
    subState: of('SubState'),
    unitFileState: of('UnitFileState'),
    fragmentPath: of('FragmentPath'),
    dropInPaths: of('DropInPaths').split(' ').filter(Boolean),
    mainPid: Number(of('MainPID')) || 0,
    lastMainPid: Number(of('ExecMainPID')) || 0,
    invocationId: of('InvocationID'),
    controlGroup: of('ControlGroup'),
    type: of('Type'),
    result: of('Result'),
    endedHow: Number(of('ExecMainCode')) || 0,
    endedStatus: Number(of('ExecMainStatus')) || 0,
    hasJob: !['', '0'].includes(of('Job')),
    needsReload: of('NeedDaemonReload') === 'yes',
  };
}

/** Asks systemd about the unit. Throws UserError when there is no systemd to ask. */
export async function showUnit(access: SystemdAccess): Promise<UnitState> {
  const { host, unit } = access;
  const result = await host.run({
    argv: systemdWords(access, 'systemctl', 'show', unit, `--property=${PROPERTIES.join(',')}`),
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (result.exitCode !== 0) {
    throw new UserError(`systemd on ${host.name} does not answer: ${result.stderr.trim()}`, {
      hint:
        access.userId === undefined
          ? 'systemctl must work there; a container without systemd needs target.command instead.'
          : 'The user must have a running systemd: loginctl enable-linger.',
    });
  }
  return parseShow(result.stdout);
}

/** A file that makes up the unit, as it is on the target. */
export interface UnitFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The unit file and its drop-ins in the order in which they apply, without ours. Throws UserError
 * when the unit does not exist there or one of its files cannot be read.
 */
export async function readUnitFiles(access: SystemdAccess, state: UnitState): Promise<UnitFile[]> {
  if (state.loadState !== 'loaded' || state.fragmentPath === '') {
    throw new UserError(`unit ${access.unit} on ${access.host.name} is ${state.loadState}`, {
      hint: 'Name a unit that "systemctl cat" shows there.',
    });
  }
  const paths = [state.fragmentPath, ...state.dropInPaths].filter((path) => !isOurs(path));
  return Promise.all(
    paths.map(async (path) => {
      const text = await access.root.readText(path);
      if (text === undefined) {
        throw new UserError(`${path} on ${access.host.name} is gone, but systemd still uses it`, {
          hint: 'Run "systemctl daemon-reload" there and look at "systemctl cat" of the unit.',
        });
      }
      return { path, text };
    }),
  );
}

function isOurs(path: string): boolean {
  return path.endsWith(`/${DROP_IN_NAME}`);
}

/**
 * Drop-ins of the unit that lie in systemd's folders and that it has not read. NeedDaemonReload
 * misses those in a folder that is new since the last reload (seen in systemd 252).
 */
export async function unreadDropIns(access: SystemdAccess, state: UnitState): Promise<string[]> {
  const { host, unit } = access;
  const shown = await host.run({
    argv: systemdWords(access, 'systemctl', 'show', '--property=UnitPath', '--value'),
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const folders = shown.stdout.trim().split(/\s+/).filter(Boolean);
  const found = await host.run({
    argv: [
      'find',
      ...folders.map((folder) => `${folder}/${unit}.d`),
      '-maxdepth',
      '1',
      '-name',
      '*.conf',
    ],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const name = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  // Of files of one name in several folders systemd reads one.
  const read = new Set(state.dropInPaths.map(name));
  return found.stdout.split('\n').filter((path) => path !== '' && !read.has(name(path)));
}

/** SHA-256 of a text, hexadecimal: what "unchanged" means for unit files. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
