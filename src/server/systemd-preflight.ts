import type { PreflightCheck } from './preflight-check.ts';
import { DROP_IN_NAME, type SystemdAccess } from './systemd-access.ts';
import { claimPath } from './systemd-lock.ts';
import { rightsCheck } from './systemd-rights.ts';
import { showUnit, type UnitState, unreadDropIns } from './systemd-unit-state.ts';

const COMMAND_LIMIT_MS = 30_000;
const RUNTIME_ROOM_KIB = 32 * 1024;

/**
 * Checks everything about the unit and our rights that can be checked without changing it. Only
 * daemon-reload and reset-failed are run for real: both change nothing on a healthy unit whose
 * files systemd has read, which is checked first.
 */
export async function preflightSystemd(
  access: SystemdAccess,
  {
    leaseSeconds,
    moreCommands = [],
  }: {
    readonly leaseSeconds: number;
    /** Commands with root's rights beside a sweep's own. */
    readonly moreCommands?: readonly (readonly string[])[];
  },
): Promise<PreflightCheck[]> {
  const state = await showUnit(access);
  const unit = await unitChecks(access, state);
  const programs = await programCheck(access);
  const room = await roomCheck(access);
  const user = access.userId === undefined ? [] : [await lingerCheck(access, access.userId)];
  if ([...unit, programs, room, ...user].some((check) => check.state === 'failed')) {
    return [...unit, programs, room, ...user];
  }
  const rights = access.sudo ? [await rightsCheck(access, leaseSeconds, moreCommands)] : [];
  const writing = rights.some((check) => check.state === 'failed')
    ? []
    : [await writingCheck(access)];
  return [...unit, programs, room, ...user, ...rights, ...writing];
}

async function unitChecks(access: SystemdAccess, state: UnitState): Promise<PreflightCheck[]> {
  const { unit, host } = access;
  if (state.loadState !== 'loaded') {
    return [
      {
        name: 'unit',
        state: 'failed',
        found: `${unit} on ${host.name} is ${state.loadState}`,
        hint: 'Name the unit as "systemctl list-units --type=service" shows it there.',
      },
    ];
  }
  return [
    { name: 'unit', state: 'passed', found: `${unit} is ${state.activeState}` },
    await reloadCheck(access, state),
    orderCheck(access, state),
    typeCheck(access, state),
    bootCheck(access, state),
  ];
}

/** Our own daemon-reload would put a half-made edit of somebody into force. */
async function reloadCheck(access: SystemdAccess, state: UnitState): Promise<PreflightCheck> {
  const { unit } = access;
  const unread = await unreadDropIns(access, state);
  if (!state.needsReload && unread.length === 0) {
    return { name: 'unit files', state: 'passed', found: 'systemd has read them' };
  }
  const which = unread.length === 0 ? `files of ${unit}` : unread.join(', ');
  return {
    name: 'unit files',
    state: 'failed',
    found: `${which} were edited and systemd has not read them: production runs something else`,
    hint: `Look at "systemctl cat ${unit}", then run "systemctl daemon-reload" and restart it, or undo the edit.`,
  };
}

/** Drop-ins apply by file name, whatever folder they are in. */
function orderCheck(access: SystemdAccess, { dropInPaths }: UnitState): PreflightCheck {
  const name = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  const later = dropInPaths.filter((path) => name(path) > DROP_IN_NAME);
  const left = dropInPaths.includes(access.paths.dropIn);
  if (left) {
    return {
      name: 'drop-ins',
      state: 'failed',
      found: `${access.paths.dropIn} of an earlier sweep is still in force`,
      hint: 'Run "nightsweep restore" first.',
    };
  }
  if (later.length === 0) {
    return { name: 'drop-ins', state: 'passed', found: `${dropInPaths.length}, ours comes last` };
  }
  return {
    name: 'drop-ins',
    state: 'failed',
    found: `${later.join(', ')} would override ours, which is ${DROP_IN_NAME}`,
    hint: 'Rename it so that it sorts before.',
  };
}

function typeCheck({ unit }: SystemdAccess, { type }: UnitState): PreflightCheck {
  if (type !== 'oneshot' && type !== 'forking') {
    return { name: 'type', state: 'passed', found: `Type=${type}` };
  }
  return {
    name: 'type',
    state: 'failed',
    found: `${unit} has Type=${type}: its main process is not the server`,
    hint: 'Start the server in the foreground with Type=simple or Type=exec.',
  };
}

function bootCheck({ unit }: SystemdAccess, state: UnitState): PreflightCheck {
  const comesBack = ['enabled', 'enabled-runtime', 'static', 'generated', 'indirect'];
  if (comesBack.includes(state.unitFileState) || state.activeState !== 'active') {
    return { name: 'reboot', state: 'passed', found: `${unit} is ${state.unitFileState}` };
  }
  return {
    name: 'reboot',
    state: 'warning',
    found: `${unit} is ${state.unitFileState}: a reboot would not bring it back, with or without a sweep`,
    hint: `systemctl enable ${unit}`,
  };
}

/** systemd refuses daemon-reload with less than 16 MiB free there, and without it nothing comes back. */
async function roomCheck({ host, paths }: SystemdAccess): Promise<PreflightCheck> {
  const folder = paths.state.slice(0, paths.state.indexOf('/nightsweep/'));
  const result = await host.run({
    argv: ['df', '-Pk', '--', folder],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const freeKib = Number(result.stdout.trim().split('\n').at(-1)?.split(/\s+/)[3]);
  const found = `${folder} has ${Math.round(freeKib / 1024)} MiB free`;
  if (freeKib >= RUNTIME_ROOM_KIB) return { name: 'room', state: 'passed', found };
  return {
    name: 'room',
    state: 'failed',
    found,
    hint: `At least ${RUNTIME_ROOM_KIB / 1024} MiB are needed: look for what fills it with du -x ${folder}`,
  };
}

async function programCheck({ host }: SystemdAccess): Promise<PreflightCheck> {
  const programs = ['timeout', 'sha256sum', 'base64', 'grep', 'cut'];
  const { stdout } = await host.run({
    argv: [
      'sh',
      '-c',
      'for p; do command -v "$p" >/dev/null || echo "$p"; done',
      'sh',
      ...programs,
    ],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const missing = stdout.split('\n').filter(Boolean);
  if (missing.length === 0)
    return { name: 'programs', state: 'passed', found: programs.join(', ') };
  return {
    name: 'programs',
    state: 'failed',
    found: `${missing.join(', ')} is missing on ${host.name}`,
    hint: 'Install coreutils and grep there.',
  };
}

/** Without linger the user's systemd, and with it the server, ends at the last logout. */
async function lingerCheck({ host }: SystemdAccess, userId: number): Promise<PreflightCheck> {
  const result = await host.run({
    argv: ['loginctl', 'show-user', String(userId), '--property=Linger', '--value'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (result.stdout.trim() === 'yes') return { name: 'linger', state: 'passed', found: 'is on' };
  return {
    name: 'linger',
    state: 'failed',
    found: `user ${userId} on ${host.name} does not linger: the server ends when the last session does`,
    hint: 'Run there: loginctl enable-linger',
  };
}

/** Also proves that there is room: the state folder lies on the same file system as the drop-in. */
async function writingCheck(access: SystemdAccess): Promise<PreflightCheck> {
  const probe = claimPath(access);
  try {
    await access.root.writeText(probe, 'preflight\n');
    await access.root.run({
      argv: ['rm', '-f', '--', probe],
      timeoutMs: COMMAND_LIMIT_MS,
      repeatable: true,
    });
    return { name: 'state folder', state: 'passed', found: access.paths.state };
  } catch (error) {
    return {
      name: 'state folder',
      state: 'failed',
      found: error instanceof Error ? error.message : String(error),
      hint: `${access.paths.state} must be writable and have room.`,
    };
  }
}
