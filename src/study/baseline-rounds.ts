import type { LaunchedTrial } from '../ranking/confirmation.ts';
import { isInside } from '../ranking/drift.ts';
import { isConfirmingRound } from '../ranking/phases.ts';
import type { MeasurementKey, StoredTrial } from '../storage/study-store.ts';
import { jumpsSeen } from './launched-trials.ts';

/** First launch of every trial. */
export const FIRST_SEARCH_ROUND = 0;

/** Launches of other trials between two of the baseline: a sixth of the search watches the machine. */
export const BASELINE_EVERY = 6;

/** Whether the search has gone on for long enough without a look at the baseline. */
export function isBaselineDue(trials: readonly LaunchedTrial[]): boolean {
  const last = trials.find(({ isBaseline }) => isBaseline)?.launches.at(-1)?.launch ?? -1;
  const since = trials
    .filter(({ isBaseline }) => !isBaseline)
    .flatMap(({ launches }) => launches.filter(({ launch }) => launch > last));
  return since.length >= BASELINE_EVERY;
}

/** The round after the last search round that has a measurement. */
export function nextSearchRound(measured: readonly MeasurementKey[]): number {
  const rounds = measured.map(({ round }) => round).filter((round) => !isConfirmingRound(round));
  return Math.max(FIRST_SEARCH_ROUND - 1, ...rounds) + 1;
}

/** Trials whose only search launch lies inside a jump of the machine: it tells nothing. */
export function invalidatedTrials(
  launched: readonly LaunchedTrial[],
  trials: readonly StoredTrial[],
): readonly StoredTrial[] {
  const jumps = jumpsSeen(launched);
  if (jumps.length === 0) return [];
  const affected = new Set(
    launched
      .filter(({ isBaseline, launches }) => {
        const search = launches.filter(({ round }) => !isConfirmingRound(round));
        return !isBaseline && search.length === 1 && isInside(search[0]?.launch ?? -1, jumps);
      })
      .map(({ trial }) => trial),
  );
  return trials.filter(({ number }) => affected.has(number));
}
