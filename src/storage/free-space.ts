import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Space on the disk that holds a path. */
export interface FreeSpace {
  readonly bytes: number;
  /** Same number, same disk. */
  readonly device: number;
}

/** What an unprivileged process may still write where `path` is or will be made. */
export function freeSpace(path: string): FreeSpace {
  let folder = resolve(path);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  return { bytes: bavail * bsize, device: statSync(folder).dev };
}
