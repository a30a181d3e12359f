import { UserError } from '../errors.ts';
import { COULD_NOT_WIN } from '../ranking/race.ts';
import type { FailureCause } from '../sglang/failure-causes.ts';
import { REPORTED, sameAsText } from './equivalents.ts';
import type { LaunchOutcome } from './run-launch.ts';

function failureIn(outcome: LaunchOutcome): FailureCause | undefined {
  return 'failure' in outcome ? outcome.failure : undefined;
}

/**
 * A start that failed for no reason the log tells is tried again too, and a server that somebody
 * restarted: the flags may be innocent.
 */
export function mayBeChance(outcome: LaunchOutcome): boolean {
  const isRestart = failureIn(outcome)?.code === 'restarted';
  return isEnvironment(outcome) || isUnexplainedStart(outcome) || isRestart;
}

function isUnexplainedStart(outcome: LaunchOutcome): boolean {
  return outcome.state === 'not-ready' && outcome.failure.kind === 'unknown';
}

/** Whether the machine, not the flags, is at fault. */
export function isEnvironment(outcome: LaunchOutcome): boolean {
  return failureIn(outcome)?.kind === 'environment';
}

/** Why a launch failed, in words. */
export function failureText(outcome: LaunchOutcome): string {
  return failureIn(outcome)?.message ?? 'the measurement did not end';
}

/** What a launch says about its trial. */
export function verdictOf(outcome: LaunchOutcome) {
  switch (outcome.state) {
    case 'measured':
      return { state: 'completed', cause: null, reason: null } as const;
    case 'dropped':
      return { state: 'partial', cause: COULD_NOT_WIN, reason: outcome.reason } as const;
    case 'settled': {
      const { report } = outcome;
      if (report.state === 'equivalent') {
        const reason = sameAsText(report.sameAs, REPORTED);
        return { state: 'skipped', cause: 'equivalent', reason } as const;
      }
      const { code: cause, message: reason } = report.failure;
      return { state: 'infeasible', cause, reason } as const;
    }
    case 'not-ready': {
      const { kind, code: cause, message } = outcome.failure;
      // Unexplained means that it happened twice: a server that ends by itself with these flags.
      const exited = kind === 'unknown' && outcome.why === 'exited';
      const state = kind === 'infeasible' || exited ? 'infeasible' : 'failed';
      return { state, cause, reason: message } as const;
    }
    case 'crashed': {
      const { kind, code: cause, message } = outcome.failure;
      const reason = `crashed at ${String(outcome.concurrency)} in flight: ${message}`;
      return { state: kind === 'environment' ? 'failed' : 'partial', cause, reason } as const;
    }
    case 'failed':
    case 'disturbed': {
      const { code: cause, message } = outcome.failure;
      return { state: 'failed', cause, reason: message } as const;
    }
    case 'limit': {
      const reason = `${LIMIT_TEXT[outcome.why]} at ${String(outcome.concurrency)} in flight`;
      return { state: 'partial', cause: outcome.why, reason } as const;
    }
  }
}

const LIMIT_TEXT = {
  completed: 'ended',
  stalled: 'no output arrived although requests were in flight',
  deadline: 'the time limit of the measurement passed',
  failures: 'too many requests failed',
  hopeless: 'far slower than the baseline',
  interrupted: 'interrupted',
  unreachable: 'the server accepted no requests any more',
} as const;

/** The error that ends a sweep whose first launch, the baseline, could not be measured. */
export function baselineError(outcome: LaunchOutcome): UserError {
  const { reason } = verdictOf(outcome);
  return new UserError(`the baseline could not be measured: ${reason ?? 'unknown reason'}`, {
    hint: 'nothing else was tried; the log of the launch is beside the database',
  });
}
