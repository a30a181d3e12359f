import type { TargetConfig } from '../config/study.ts';
import type { Host } from '../host/host.ts';
import { localHost } from '../host/local-host.ts';
import { openSshHost, type SshHost } from '../host/ssh-host.ts';
import { openSystemd, type SystemdAccess } from '../server/systemd-access.ts';
import { askPassphrase } from './ask-passphrase.ts';
import type { CliContext } from './context.ts';

/** Names another file than `~/.ssh/config`, as `ssh -F` does. */
const SSH_CONFIG_VARIABLE = 'NIGHTSWEEP_SSH_CONFIG';

/** Where a study's server lives. Disposing ends the connection and leaves what runs there alone. */
export interface Place extends AsyncDisposable {
  readonly host: Host;
  /** The same machine, when it is behind ssh. */
  readonly ssh: SshHost | undefined;
  /** Undefined for a target that is a command or a unit file on this machine. */
  readonly unit: SystemdAccess | undefined;
}

/**
 * Connects to the machine of a target. Changes nothing there.
 *
 * @throws UserError when it cannot be reached, refuses us or shows another host key.
 */
export async function reachTarget(
  { ssh: name, unit, user = false }: Pick<TargetConfig, 'ssh' | 'unit' | 'user'>,
  { environment }: Pick<CliContext, 'environment'>,
): Promise<Place> {
  const ssh =
    name === undefined
      ? undefined
      : await openSshHost(name, { configPath: environment[SSH_CONFIG_VARIABLE], askPassphrase });
  const host = ssh ?? localHost;
  const close = async () => ssh?.[Symbol.asyncDispose]();
  try {
    return {
      host,
      ssh,
      unit: unit === undefined ? undefined : await openSystemd({ host, unit, user }),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
