/** Process exit codes of every command (README, "Commands and exit codes"). */
export const EXIT = {
  done: 0,
  /** Nothing feasible, or no trial meets the limits. */
  nothingFeasible: 1,
  operatorError: 2,
  /** Finished, and no configuration beats the baseline beyond noise: keep what you have. */
  keepWhatYouHave: 3,
  bug: 70,
  interrupted: 130,
} as const;

export interface UserErrorOptions {
  /** What the user can do about it, as one sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A mistake or a circumstance that the user can mend: shown as `error:`, `because:`, `hint:`
 * without a stack. Everything else that is thrown counts as a bug and keeps its stack.
 */
export class UserError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, { hint, cause }: UserErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'UserError';
    this.hint = hint;
  }
}

/**
 * A UserError after which no further launch can go well, or none may be tried: it ends a sweep,
 * where any other one costs a trial.
 */
export class EndOfSweepError extends UserError {}

/** Marks code that the types make unreachable; reaching it is a bug. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
