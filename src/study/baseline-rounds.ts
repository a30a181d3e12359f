import type { LaunchedTrial } from '../ranking/confirmation.ts';
import { isInside } from '../ranking/drift.ts';
import { isConfirmingRound } from '../ranking/phases.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import type { MeasurementKey, StoredTrial } from '../storage/study-store.ts';
import { jumpsSeen } from './launched-trials.ts';

/** First launch of every trial. */
export const FIRST_SEARCH_ROUND = 0;

/** Launches of other trials between two of the baseline: a sixth of the search watches the machine. */
export const BASELINE_EVERY = 6;

/** Whether the search has gone on for long enough without a look at the baseline. */
export function isBaselineDue(
  launched: readonly LaunchedTrial[],
  data: readonly TrialData[],
): boolean {
  const last = lastBaselineLaunch(launched);
  const since = launched
    .filter(({ isBaseline }) => !isBaseline)
    .flatMap(({ launches }) => launches.filter(({ launch }) => launch > last));
  return since.length + droppedSince(last, data) >= BASELINE_EVERY;
}

/** Whether trials were dropped that no later launch of the baseline vouches for. */
export function isDropUnproven(
  launched: readonly LaunchedTrial[],
  data: readonly TrialData[],
): boolean {
  return droppedSince(lastBaselineLaunch(launched), data) > 0;
}

function lastBaselineLaunch(launched: readonly LaunchedTrial[]): number {
  return launched.find(({ isBaseline }) => isBaseline)?.launches.at(-1)?.launch ?? -1;
}

function droppedSince(launch: number, data: readonly TrialData[]): number {
  return data.filter((one) => one.dropped === true && launchesOf(one).some((own) => own > launch))
    .length;
}

function launchesOf({ cells }: TrialData): readonly number[] {
  return [...cells.values()].flatMap((samples) => samples.map(({ launchId }) => launchId));
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

/**
 * Trials whose only launch was dropped, or broke off, inside a jump of the machine: they were
 * judged by its state.
 */
export function droppedInJump(
  data: readonly TrialData[],
  launched: readonly LaunchedTrial[],
  trials: readonly StoredTrial[],
): readonly StoredTrial[] {
  const jumps = jumpsSeen(launched);
  if (jumps.length === 0) return [];
  const complete = new Set(
    launched.filter(({ launches }) => launches.length > 0).map(({ trial }) => trial),
  );
  const affected = new Set(
    data
      .filter((one) => {
        const { trial, state, dropped } = one;
        const launches = launchesOf(one);
        const isOpen = dropped === true || state === 'completed';
        const isWithin = launches.length > 0 && launches.every((own) => isInside(own, jumps));
        return isOpen && isWithin && !complete.has(trial);
      })
      .map(({ trial }) => trial),
  );
  return trials.filter(({ number }) => affected.has(number));
}
