import type { SystemdAccess } from './systemd-access.ts';

/** Name, without `.service`, of the transient unit in which a sweep runs its load on the target. */
export function loadUnit({ unit }: Pick<SystemdAccess, 'unit'>): string {
  return `nightsweep-load-${unit.replace(/\.service$/, '').replaceAll(/[^A-Za-z0-9:_.-]/g, '-')}`;
}

/**
 * Folder on the target for what the load needs: program, Node, job, result. On a disk, as a copy of
 * Node is too large for `/run`; its owner is the user we log in as.
 */
export function loadFolder(access: Pick<SystemdAccess, 'unit' | 'userId'>): string {
  const owner = access.userId === undefined ? '' : `-${String(access.userId)}`;
  return `/var/tmp/${loadUnit(access)}${owner}`;
}
