import { writeCommands } from '../host/sudo-host.ts';
import { needsPassword, parseSudoRules, type SudoRule } from '../host/sudo-rules.ts';
import type { PreflightCheck } from './preflight-check.ts';
import { type SystemdAccess, systemdWords } from './systemd-access.ts';
import { armWords, guardUnit } from './systemd-lease.ts';
import { claimPath, placeWords } from './systemd-lock.ts';
import { findProcessesWords } from './systemd-stop.ts';

const COMMAND_LIMIT_MS = 30_000;

/** A command with the rights of root, and whether running it now is harmless. */
interface NeededCommand {
  readonly argv: readonly string[];
  readonly harmless: boolean;
}

/**
 * Every command that a sweep will run with root's rights, exactly as it will be run, and `more`
 * that only an installation needs.
 */
export function neededCommands(
  access: SystemdAccess,
  leaseSeconds: number,
  more: readonly (readonly string[])[] = [],
): NeededCommand[] {
  const { unit, paths } = access;
  const control = (harmless: boolean, ...args: string[]): NeededCommand => ({
    argv: systemdWords(access, 'systemctl', ...args),
    harmless,
  });
  const files = [paths.dropIn, paths.environment, paths.journal, paths.lease].flatMap((path) =>
    writeCommands(path, 0o600),
  );
  const other = [
    ...writeCommands(paths.guard, 0o700),
    ['rm', '-f', '--', paths.dropIn, paths.environment],
    ['rm', '-f', '--', paths.journal, paths.restored],
    ['rm', '-f', '--', paths.restoring],
    ['rm', '-f', '--', paths.guard, paths.lease],
    ...[paths.journal, paths.dropIn, paths.lease].map((path) => ['cat', '--', path]),
    ['cat', '--', '/proc/1/environ'],
    ...writeCommands(claimPath(access)),
    ...writeCommands(paths.restoring),
    placeWords(access),
    ['rm', '-f', '--', claimPath(access)],
    ['rm', '-f', '--', paths.lock],
    findProcessesWords('0'.repeat(32)),
    armWords(access, leaseSeconds),
  ];
  return [
    control(true, 'daemon-reload'),
    control(true, 'reset-failed', unit),
    control(false, 'restart', '--no-block', unit),
    control(false, 'stop', '--no-block', unit),
    control(false, 'kill', '--signal=SIGKILL', unit),
    control(false, 'stop', `${guardUnit(access)}.timer`),
    { argv: systemdWords(access, 'journalctl', '--no-pager', '--lines=0'), harmless: true },
    ...[...files, ...other, ...more].map((argv) => ({ argv, harmless: false })),
  ];
}

/** Whether sudo runs each of them without a password; names those that it does not. */
export async function rightsCheck(
  access: SystemdAccess,
  leaseSeconds: number,
  more: readonly (readonly string[])[] = [],
): Promise<PreflightCheck> {
  const rules = await sudoRules(access);
  const refused: string[] = [];
  for (const { argv, harmless } of neededCommands(access, leaseSeconds, more)) {
    if (!(await isAllowed(access, argv, harmless, rules))) refused.push(argv.join(' '));
  }
  if (refused.length === 0) {
    return { name: 'rights', state: 'passed', found: 'sudo -n may run each command' };
  }
  return {
    name: 'rights',
    state: 'failed',
    found: `sudo -n refuses on ${access.host.name}: ${refused.join('; ')}`,
    hint: 'Allow exactly these with NOPASSWD in /etc/sudoers.d (visudo), or connect as root.',
  };
}

/** Those of `commands` that sudo does not run without a password. None of them is run. */
export async function refusedCommands(
  access: SystemdAccess,
  commands: readonly (readonly string[])[],
): Promise<readonly string[]> {
  const rules = await sudoRules(access);
  const refused: string[] = [];
  for (const argv of commands) {
    if (!(await isAllowed(access, argv, false, rules))) refused.push(argv.join(' '));
  }
  return refused;
}

async function sudoRules({ host }: SystemdAccess): Promise<SudoRule[]> {
  const result = await host.run({
    argv: ['sudo', '-n', '-ll'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return parseSudoRules(result.stdout);
}

/**
 * Harmless commands are run. For the others sudo is asked whether it would allow them; that says
 * nothing about a password, so the rule itself is looked up too.
 */
async function isAllowed(
  access: SystemdAccess,
  argv: readonly string[],
  harmless: boolean,
  rules: readonly SudoRule[],
): Promise<boolean> {
  if (harmless) {
    const result = await access.root.run({ argv, timeoutMs: COMMAND_LIMIT_MS, repeatable: true });
    return result.exitCode === 0;
  }
  const result = await access.host.run({
    argv: ['sudo', '-n', '-l', '--', ...argv],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return result.exitCode === 0 && !needsPassword(rules, result.stdout.trim());
}
