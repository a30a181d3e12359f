import type { Confirmation } from './confirmation.ts';
import { ASSUMED_LAUNCH_NOISE_FRACTION } from './power.ts';

/** Whether further confirming rounds can still change something. */
export type ConfirmingStep =
  /** One more round of these finalists and the baseline. */
  | { readonly state: 'continue'; readonly finalists: readonly number[] }
  /** `resolved`: every gain is known closely enough. `hopeless`: no finalist can win any more. */
  | { readonly state: 'done'; readonly why: 'resolved' | 'hopeless' | 'rounds' };

/** A gain known to this is known: half width of the interval, as a share. */
const RESOLUTION_FRACTION = 0.01;
/** A large gain need not be known as closely: to a quarter of itself. */
const RELATIVE_RESOLUTION = 0.25;
/** Before this many rounds nothing is concluded: the noise itself is hardly known. */
const FEWEST_ROUNDS = 4;
/**
 * Blended into the measured noise where it decides on an end, as heavy as two degrees: ending when
 * the noise happens to look small would make intervals too narrow.
 */
const PRIOR_VARIANCE = ASSUMED_LAUNCH_NOISE_FRACTION ** 2;
const PRIOR_DEGREES = 2;

/**
 * What the next confirming round is, given the rounds so far.
 *
 * Asked after each pair of rounds. Ends on how closely the gains are known, not on whether they look like wins: an end that waits
 * for a lucky moment would find one. (The quarter rule depends on the gain, but so weakly that
 * intervals keep their coverage; see bench/search.) A finalist is dropped once even the upper end
 * of its interval is no gain, or another finalist is ahead of it beyond noise; both only take
 * chances of winning away, so no false win comes from them.
 *
 * @param finalists as chosen, best first.
 */
export function nextConfirmingStep(
  confirmation: Confirmation | undefined,
  finalists: readonly number[],
  maximumRounds: number,
): ConfirmingStep {
  if (finalists.length === 0) return { state: 'done', why: 'hopeless' };
  if (confirmation === undefined) {
    return maximumRounds > 0 ? { state: 'continue', finalists } : { state: 'done', why: 'rounds' };
  }
  const known = finalists.map((trial) => judged(trial, confirmation));
  // Rounds come in mirrored pairs: in the middle of one, drift has not cancelled yet.
  if (known.some(({ rounds }) => rounds < FEWEST_ROUNDS))
    return goOn(known, confirmation, maximumRounds);
  const ahead = Math.max(...known.map(({ low }) => low));
  const live = known.filter(({ high }) => high > 0 && high >= ahead);
  if (live.length === 0) return { state: 'done', why: 'hopeless' };
  const isResolved = live.every(
    ({ gain, half }) => half <= Math.max(RESOLUTION_FRACTION, RELATIVE_RESOLUTION * Math.abs(gain)),
  );
  if (isResolved) return { state: 'done', why: 'resolved' };
  return goOn(live, confirmation, maximumRounds);
}

function goOn(
  live: readonly { readonly trial: number }[],
  { rounds }: Confirmation,
  maximumRounds: number,
): ConfirmingStep {
  if (rounds >= maximumRounds) return { state: 'done', why: 'rounds' };
  return { state: 'continue', finalists: live.map(({ trial }) => trial) };
}

function judged(trial: number, confirmation: Confirmation) {
  const { gains, variance, degreesOfFreedom, critical } = confirmation;
  const { logGain: gain, rounds } = gains.get(trial) ?? { logGain: 0, rounds: 0 };
  const careful =
    (variance * degreesOfFreedom + PRIOR_VARIANCE * PRIOR_DEGREES) /
    (degreesOfFreedom + PRIOR_DEGREES);
  const half = rounds === 0 ? Infinity : critical * Math.sqrt((2 * careful) / rounds);
  return { trial, rounds, gain, half, low: gain - half, high: gain + half };
}

/**
 * Order of launches in a confirming round: the baseline last in the last of the planned rounds,
 * and every other round the other way round, so that over a pair of rounds a steady drift touches
 * all alike.
 */
export function confirmingOrder<T>(
  finalists: readonly T[],
  baseline: T,
  round: number,
  maximumRounds: number,
): readonly T[] {
  const order = [...finalists, baseline];
  return beginsPair(round, maximumRounds) ? order.reverse() : order;
}

/** Whether a round is the first of a mirrored pair; only before such a round an end is asked for. */
export function beginsPair(round: number, maximumRounds: number): boolean {
  return (maximumRounds - round) % 2 === 0;
}
