import { UserError } from '../errors.ts';

const CONNECTION_CODES = /^(?:UND_ERR_|HPE_|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/;

/**
 * Whether an error says that a server did not answer as it should: a refused or broken connection,
 * a timeout, an answer that is none. Such a server is gone or broken; the sweep goes on with the
 * next trial. Any other error is a fault of this program.
 */
export function isNetworkFailure(error: unknown): boolean {
  if (error instanceof UserError) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'TimeoutError') return true;
  if ('code' in error && typeof error.code === 'string' && CONNECTION_CODES.test(error.code)) {
    return true;
  }
  if (error instanceof AggregateError) return error.errors.some(isNetworkFailure);
  return isNetworkFailure(error.cause);
}
