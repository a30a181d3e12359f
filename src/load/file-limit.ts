import { readFileSync } from 'node:fs';
import { UserError } from '../errors.ts';

/** Files of this process beside the sockets of the load: database, logs, libraries. */
const OTHER_FILES = 64;

/** Open files this process may have; undefined where the system does not say (not Linux). */
export function fileLimit(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Throws UserError when `sockets` cannot be open together: the run would otherwise fail in its
 * middle, with errors that look like the server's (field report E12). Node raises its own soft
 * limit to the hard one at start, so the limit read here cannot be raised from within.
 */
export function requireFiles(sockets: number, limit = fileLimit()): void {
  if (limit === undefined || sockets + OTHER_FILES <= limit) return;
  throw new UserError(
    `${sockets} requests in flight need ${sockets + OTHER_FILES} open files, ${limit} are allowed`,
    {
      hint: `raise the limit first: ulimit -n ${sockets + OTHER_FILES}, or LimitNOFILE= of a unit`,
    },
  );
}
