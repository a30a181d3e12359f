/**
 * Rounds below this belong to the search: 0 is a trial's first launch, the following ones the
 * baseline's along the way and launches taken again after a jump. From here on they confirm: one
 * round is one launch of each finalist and of the baseline, and none of them selected anything.
 */
export const FIRST_CONFIRMING_ROUND = 1000;

export function isConfirmingRound(round: number): boolean {
  return round >= FIRST_CONFIRMING_ROUND;
}
