import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from './errors.ts';

/**
 * Makes a folder and those above it.
 *
 * Not with `recursive`: that loops for ever where the kernel answers ENOENT, such as below /proc.
 *
 * @throws UserError when something on the way is a file, else the system's error.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) return;
    throw new UserError(`${path} is a file, not a folder`, { hint: 'check the path' });
  }
  makeFolder(dirname(path));
  mkdirSync(path);
}
