import { UserError } from '../errors.ts';
import { writeCommands } from '../host/sudo-host.ts';
import { isRecommendationName } from '../service-file/drop-in-name.ts';
import { mustSystemctl, removeFiles, type SystemdAccess } from './systemd-access.ts';
import { showUnit, type UnitState } from './systemd-unit-state.ts';

/** Not read by systemd, which takes `*.conf` alone: a drop-in that was taken back stays to look at. */
const TAKEN_BACK = '.reverted';

const COMMAND_LIMIT_MS = 30_000;

/** Folder of drop-ins of the unit that outlives a reboot. */
export async function permanentFolder({ host, unit, userId }: SystemdAccess): Promise<string> {
  if (userId === undefined) return `/etc/systemd/system/${unit}.d`;
  const { stdout } = await host.run({
    argv: ['sh', '-c', 'printf %s "${XDG_CONFIG_HOME:-$HOME/.config}"'],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (!stdout.startsWith('/')) throw new UserError(`${host.name} does not tell our home folder`);
  return `${stdout}/systemd/user/${unit}.d`;
}

/** Drop-ins of the unit that hold a recommendation, in the order in which they apply. */
export function recommendationsIn({ dropInPaths }: Pick<UnitState, 'dropInPaths'>): string[] {
  return dropInPaths.filter((path) => isRecommendationName(path.slice(path.lastIndexOf('/') + 1)));
}

/** A drop-in that outlives a reboot. */
export interface PermanentDropIn {
  readonly path: string;
  /** 0600 where its text holds a key, else readable for all. */
  readonly mode: number;
}

/** What `makePermanent` runs with root's rights besides a sweep's own commands. */
export function installCommands({ path, mode }: PermanentDropIn): string[][] {
  return [...writeCommands(path, mode), ['rm', '-f', '--', path]];
}

/**
 * Puts the text of the volatile drop-in that is in force into `path`, which outlives a reboot, and
 * removes the volatile one. The running process is not touched: it was started from this text.
 *
 * Until the file is in place a reboot, or the restore timer, brings back what was before; from
 * then on both bring up what was proven. When a later step fails the file is removed again.
 */
export async function makePermanent(
  access: SystemdAccess,
  { path, mode }: PermanentDropIn,
): Promise<void> {
  const { paths, root, unit, host } = access;
  const text = await root.readText(paths.dropIn);
  if (text === undefined) throw new UserError(`${paths.dropIn} on ${host.name} is gone`);
  const before = await showUnit(access);
  try {
    await root.writeText(path, text, { mode });
    await removeFiles(access, paths.dropIn, paths.environment);
    await mustSystemctl(access, 'daemon-reload');
    const after = await showUnit(access);
    if (after.dropInPaths.at(-1) !== path || after.needsReload) {
      throw new UserError(`${path} is not the last drop-in of ${unit} on ${host.name}`, {
        hint: `Look there with: systemctl cat ${unit}`,
      });
    }
    if (after.invocationId !== before.invocationId) {
      throw new UserError(`${unit} on ${host.name} was restarted while its drop-in was installed`);
    }
  } catch (error) {
    // Volatile again, so that whoever restores knows that another command may be running.
    await root.writeText(paths.dropIn, text, { mode: 0o600 });
    await removeFiles(access, path);
    throw error;
  }
}

/** What `takeBack` runs with root's rights. */
export function takeBackCommands(path: string): string[][] {
  return [
    ['mv', '-fT', '--', path, `${path}${TAKEN_BACK}`],
    ['mv', '-fT', '--', `${path}${TAKEN_BACK}`, path],
  ];
}

/** A drop-in that no longer applies. */
export interface TakenBack {
  /** Where its text is now. */
  readonly keptAs: string;
  /** Puts it back into force. The unit is not restarted. */
  undo(): Promise<void>;
}

/** Takes a permanent drop-in out of force, in one step. The unit is not restarted. */
export async function takeBack(access: SystemdAccess, path: string): Promise<TakenBack> {
  const [away = [], back = []] = takeBackCommands(path);
  const move = async (argv: readonly string[]): Promise<void> => {
    const result = await access.root.run({ argv, timeoutMs: COMMAND_LIMIT_MS });
    if (result.exitCode !== 0) {
      throw new UserError(`cannot move ${path} on ${access.host.name}: ${result.stderr.trim()}`);
    }
    await mustSystemctl(access, 'daemon-reload');
  };
  await move(away);
  return { keptAs: `${path}${TAKEN_BACK}`, undo: async () => move(back) };
}
