import { EXIT, UserError } from '../errors.ts';
import { redactText } from '../sglang/redact.ts';

/** Aborts with this when the user or the system asked the program to end. */
export class Interrupted extends Error {
  readonly signalName: NodeJS.Signals;

  constructor(signalName: NodeJS.Signals) {
    super(`interrupted by ${signalName}`);
    this.name = 'Interrupted';
    this.signalName = signalName;
  }
}

/**
 * Prints an error the way its kind deserves and returns the exit code.
 *
 * A UserError shows what happened, why, and what to do, without a stack unless `debug`.
 */
export function reportError(
  error: unknown,
  stderr: (line: string) => void,
  { debug }: { readonly debug: boolean },
): number {
  if (error instanceof Interrupted) {
    stderr(error.message);
    return EXIT.interrupted;
  }
  if (!(error instanceof UserError)) {
    stderr(redactText(error instanceof Error ? (error.stack ?? error.message) : String(error)));
    stderr('This is a bug in nightsweep: please report it with the lines above.');
    return EXIT.bug;
  }
  stderr(redactText(`error: ${error.message}`));
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    stderr(redactText(`  because: ${cause.message}`));
  }
  if (error.hint !== undefined && error.hint !== '') stderr(redactText(`  hint: ${error.hint}`));
  if (debug) stderr(redactText(error.stack ?? ''));
  return EXIT.operatorError;
}
