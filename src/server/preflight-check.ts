import { UserError } from '../errors.ts';

/** One thing that must hold before a sweep may touch the target. */
export interface PreflightCheck {
  readonly name: string;
  /** `warning`: the sweep can run, but the user should know. */
  readonly state: 'passed' | 'failed' | 'warning';
  /** What was found, as one sentence. */
  readonly found: string;
  /** What to do about it; absent when it passed. */
  readonly hint?: string;
}

/** Throws UserError with every failed check; warnings pass. */
export function requirePassed(checks: readonly PreflightCheck[]): void {
  const failed = checks.filter(({ state }) => state === 'failed');
  const [first] = failed;
  if (first === undefined) return;
  throw new UserError(failed.map(({ found }) => found).join('\n'), { hint: first.hint });
}
