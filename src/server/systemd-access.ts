import { UserError } from '../errors.ts';
import type { CommandResult, Host } from '../host/host.ts';
import { withSudo } from '../host/sudo-host.ts';

/** Sorts behind every name that people use: drop-ins apply by file name over all folders. */
export const DROP_IN_NAME = 'zzzz-nightsweep.conf';

/** One unit of one systemd, and with what rights we reach it. */
export interface SystemdAccess {
  /** The machine, with our own rights. */
  readonly host: Host;
  /** The machine with the rights to change the unit: root's, or our own for a user's systemd. */
  readonly root: Host;
  /** With its suffix: `sglang.service`. */
  readonly unit: string;
  /** The user whose systemd it is; undefined for the machine's. */
  readonly userId: number | undefined;
  /** Whether `root` is `host` with `sudo -n`. */
  readonly sudo: boolean;
  readonly paths: SystemdPaths;
}

/** Files of a sweep on the target. All are volatile: a reboot removes them. */
export interface SystemdPaths {
  readonly dropIn: string;
  readonly state: string;
  /** Values of variables for the trial; mode 0600. */
  readonly environment: string;
  readonly journal: string;
  readonly lock: string;
  /** Uptime in seconds at which the lease ends. */
  readonly lease: string;
  readonly guard: string;
  /** There while a restore is under way: production must be started anew, whatever else is done. */
  readonly restoring: string;
  /** Written by whoever restored production last. */
  readonly restored: string;
}

export interface OpenSystemdOptions {
  readonly host: Host;
  readonly unit: string;
  /** Use `systemctl --user`. */
  readonly user?: boolean;
}

const COMMAND_LIMIT_MS = 30_000;

/**
 * Finds out who we are on the host and how to change the unit. Throws UserError for a name that
 * is no service unit.
 */
export async function openSystemd({
  host,
  unit,
  user = false,
}: OpenSystemdOptions): Promise<SystemdAccess> {
  const name = unit.endsWith('.service') ? unit : `${unit}.service`;
  // systemd's own set for unit names; a name outside it could mean an option or a path.
  if (!/^[A-Za-z0-9:_.\\][A-Za-z0-9:_.@\\-]*\.service$/.test(name) || name.includes('..')) {
    throw new UserError(`${JSON.stringify(unit)} is not the name of a service unit`);
  }
  const { stdout } = await host.run({
    argv: ['id', '-u'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const id = Number(stdout.trim());
  if (stdout.trim() === '' || !Number.isInteger(id)) {
    throw new UserError(`${host.name} does not tell our user id: is it Linux?`);
  }
  const sudo = !user && id !== 0;
  return {
    host,
    root: sudo ? withSudo(host) : host,
    unit: name,
    userId: user ? id : undefined,
    sudo,
    paths: pathsOf(name, user ? id : undefined),
  };
}

function pathsOf(unit: string, userId: number | undefined): SystemdPaths {
  const runtime = userId === undefined ? '/run' : `/run/user/${userId}`;
  const units = userId === undefined ? '/run/systemd/system' : `${runtime}/systemd/user`;
  const state = `${runtime}/nightsweep/${unit}`;
  return {
    dropIn: `${units}/${unit}.d/${DROP_IN_NAME}`,
    state,
    environment: `${state}/trial.env`,
    journal: `${state}/journal.json`,
    lock: `${state}/lock.json`,
    lease: `${state}/lease`,
    guard: `${state}/guard.sh`,
    restoring: `${state}/restoring`,
    restored: `${state}/restored`,
  };
}

/** Words of a program of systemd (`systemctl`, `journalctl`, `systemd-run`) for the right instance. */
export function systemdWords(
  { userId }: Pick<SystemdAccess, 'userId'>,
  program: string,
  ...args: readonly string[]
): string[] {
  if (userId === undefined) return [program, ...args];
  // A command over ssh may have no session of its own, and finds the user's systemd by this.
  return ['env', `XDG_RUNTIME_DIR=/run/user/${userId}`, program, '--user', ...args];
}

/** Runs `systemctl` with the rights to change the unit. */
export async function systemctl(
  access: SystemdAccess,
  ...args: readonly string[]
): Promise<CommandResult> {
  return access.root.run({
    argv: systemdWords(access, 'systemctl', ...args),
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
}

/** As {@link systemctl}; throws UserError with systemd's own words when it fails. */
export async function mustSystemctl(
  access: SystemdAccess,
  ...args: readonly string[]
): Promise<void> {
  const result = await systemctl(access, ...args);
  if (result.exitCode === 0) return;
  const reason = result.timedOut ? 'no answer in time' : result.stderr.trim();
  throw new UserError(`systemctl ${args.join(' ')} failed on ${access.host.name}: ${reason}`);
}

/** Removes files of ours; those that are gone already are fine. */
export async function removeFiles(
  access: SystemdAccess,
  ...paths: readonly string[]
): Promise<void> {
  const result = await access.root.run({
    argv: ['rm', '-f', '--', ...paths],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (result.exitCode !== 0) {
    throw new UserError(
      `cannot remove ${paths.join(', ')} on ${access.host.name}: ${result.stderr.trim()}`,
    );
  }
}
