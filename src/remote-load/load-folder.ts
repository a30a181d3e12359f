import type { SystemdAccess } from '../server/systemd-access.ts';
import { loadFolder } from '../server/systemd-load-unit.ts';
import { LoadHostError } from './load-host-error.ts';

const COMMAND_LIMIT_MS = 60_000;

/**
 * Makes the folder of the load on the target, empty and for us alone. What an interrupted sweep left
 * there goes first.
 *
 * @throws LoadHostError naming host, path and reason.
 */
export async function makeLoadFolder(access: SystemdAccess): Promise<string> {
  const folder = loadFolder(access);
  await mustRun(access, folder, 'umask 077; rm -rf -- "$1" && mkdir -- "$1"');
  return folder;
}

/** Removes the folder and what is in it. */
export async function removeLoadFolder(access: SystemdAccess): Promise<void> {
  await mustRun(access, loadFolder(access), 'rm -rf -- "$1"');
}

async function mustRun({ host }: SystemdAccess, folder: string, script: string): Promise<void> {
  const result = await host.run({
    argv: ['sh', '-c', script, 'sh', folder],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  if (result.exitCode === 0) return;
  const reason = result.stderr.trim().split('\n').at(-1)?.split(': ').at(-1) ?? '';
  throw new LoadHostError(`cannot write ${folder} on ${host.name}: ${reason}`, {
    hint: `Check space and permissions there (df -h /var/tmp; ls -ld ${folder}), or send the load from here with measure.load_from: here.`,
  });
}
