import { UserError } from '../errors.ts';

const CONNECTION_CODES =
  /^(?:UND_ERR_|HPE_|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EPROTO)/;

/** A server that refused, answered with an error or with nonsense, or could not be reached. */
export class NoAnswerError extends UserError {}

/**
 * Whether an error says that a server did not answer as it should: a refused or broken connection,
 * a timeout, an answer that is none. Such a server is gone or broken; the sweep goes on with the
 * next trial. Any other error is a circumstance of this machine (an unreadable prompt file, a link
 * that broke) or a fault of this program, and says nothing about the server.
 */
export function isNetworkFailure(error: unknown): boolean {
  if (error instanceof NoAnswerError) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'TimeoutError') return true;
  if ('code' in error && typeof error.code === 'string' && CONNECTION_CODES.test(error.code)) {
    return true;
  }
  if (error instanceof AggregateError) return error.errors.some(isNetworkFailure);
  return isNetworkFailure(error.cause);
}

/** For `catch`: nothing in place of an answer that never came; other errors are thrown on. */
export function noAnswer(error: unknown): undefined {
  if (isNetworkFailure(error)) return undefined;
  throw error;
}
