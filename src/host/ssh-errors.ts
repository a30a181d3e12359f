import { EndOfSweepError } from '../errors.ts';

/** The machine could not be reached, or not any more: nothing is known about what runs there. */
export class HostUnreachableError extends EndOfSweepError {}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `level` of an error of ssh2, such as `client-authentication`. */
export function errorLevel(error: unknown): string | undefined {
  const level = error instanceof Error && 'level' in error ? error.level : undefined;
  return typeof level === 'string' ? level : undefined;
}

/** `code` of a system error, such as `ECONNREFUSED`. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/**
 * The server refused one more channel (MaxSessions reached, or channels it has not yet forgotten):
 * nothing was run.
 */
export function isChannelRefusal(error: unknown): boolean {
  return /channel open failure|open failed/i.test(errorMessage(error));
}

/** The request never left: the connection had ended before. */
export function isNotConnected(error: unknown): boolean {
  return /not connected/i.test(errorMessage(error));
}
