import { assertNever } from '../errors.ts';
import type { Ineligibility } from '../ranking/eligibility.ts';
import { percent } from './figures.ts';

/** Why a trial cannot win, as a clause. */
export function ineligibilityText(reason: Ineligibility): string {
  switch (reason.code) {
    case 'infeasible':
      return `infeasible: ${or(reason.reason, 'the server refuses these flags')}`;
    case 'failed':
      return `failed: ${or(reason.reason, 'the environment was at fault, not the flags')}`;
    case 'dropped':
      return or(reason.reason, 'dropped: could not win');
    case 'crashed':
      return reason.concurrency === null
        ? `did not survive every run: ${or(reason.reason, 'one repeat broke off')}`
        : `did not survive C=${reason.concurrency}${reason.reason === '' ? '' : `: ${reason.reason}`}`;
    case 'not-measured':
      return `not measured at C=${reason.concurrency}`;
    case 'barred':
      return `no valid measurement at C=${reason.concurrency} (${reason.marks.join(', ')})`;
    case 'failed-requests':
      return `${percent(reason.failureFraction)} of the requests failed at C=${reason.concurrency}`;
    case 'estimated-tokens':
      return `tokens at C=${reason.concurrency} were estimated, those of other trials counted by the server`;
    case 'short-answers':
      return (
        `${percent(reason.shortFraction)} of the answers ended early, ` +
        `${percent(reason.baselineShortFraction)} of the baseline's: not the same work`
      );
    case 'limit':
      return `misses ${reason.limit} at C=${reason.concurrency} (${Number(reason.value.toPrecision(4))})`;
    case 'limit-unknown':
      return `${reason.limit} cannot be checked at C=${reason.concurrency}: it was not measured`;
    default:
      return assertNever(reason);
  }
}

/** All reasons of a trial as one clause; null when it is eligible. */
export function ineligibilitiesText(reasons: readonly Ineligibility[]): string | null {
  return reasons.length === 0 ? null : reasons.map(ineligibilityText).join('; ');
}

function or(text: string, fallback: string): string {
  return text === '' ? fallback : text;
}
