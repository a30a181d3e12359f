import type { StoredTrial } from '../../src/storage/study-store.ts';
import type { ChaoticSweep } from './chaotic-sweep.ts';
import type { Failure } from './failures.ts';

/** What was injected into a trial, and what the sweep made of it. */
export interface Verdict {
  readonly injected: string;
  readonly found: string;
  readonly right: boolean;
}

/** Trials the sweep decided on, each with its verdict; those it never came to are left out. */
export function verdictsOf({ trials, injected, end, events }: ChaoticSweep): readonly Verdict[] {
  const launched = new Set(
    events.flatMap((event) => (event.type === 'launch-started' ? [event.trial] : [])),
  );
  return trials.flatMap((trial): Verdict[] => {
    const failure = injected.get(trial.number);
    if (failure === undefined) return [];
    if (trial.state === 'skipped' && trial.reason?.startsWith('inferred: ') === true) return [];
    if (!launched.has(trial.number)) return [];
    const isLast = trial.number === Math.max(...launched);
    // Memory that stays held matters to the next launch only.
    if (failure.outside === 'gpu-never-free' && isLast && end === 'finished') return [];
    const isTold = events.some(
      (event) =>
        event.type === 'notice' &&
        event.text.startsWith(`trial ${String(trial.number)}: `) &&
        event.text.includes(failure.told ?? '\0'),
    );
    const isCompleted = trial.state === 'completed' && isTold;
    const found = isCompleted ? 'completed after it was told' : foundIn(trial, failure, end);
    return [{ injected: failure.name, found, right: failure.expected.includes(found) }];
  });
}

/** Failures outside the servers end the sweep instead of the trial. */
function foundIn({ state, cause }: StoredTrial, { outside }: Failure, end: string): string {
  const endsTheSweep =
    outside !== undefined && outside !== 'foreign-requests' && outside !== 'start-refused';
  return endsTheSweep ? `sweep ended: ${end}` : `${state} ${String(cause)}`;
}

/** Everything that is wrong with how a sweep went, causes aside; empty when all is well. */
export function faultsOf(sweep: ChaoticSweep): readonly string[] {
  const { seed } = sweep;
  const faults = [
    ...sweep.problems,
    ...endFaults(sweep),
    ...storedFaults(sweep),
    ...coverageFaults(sweep),
    ...rankingFaults(sweep),
  ];
  return faults.map((fault) => `sweep ${String(seed)}: ${fault}`);
}

function endFaults({ end, stillRuns, openLaunches }: ChaoticSweep): readonly string[] {
  const isFull = end === 'the disk is full';
  const known =
    isFull ||
    end.startsWith('the server could not be stopped: pid 4242') ||
    end === 'the server could not be stopped: the link broke' ||
    end === 'finished' ||
    end === 'broken-environment';
  return [
    ...(known ? [] : [`it ended with: ${end}`]),
    ...(stillRuns ? ['a server still runs'] : []),
    // A full disk takes no record of the end either; the next sweep closes such a launch.
    ...(openLaunches > (isFull ? 1 : 0) ? [`${String(openLaunches)} launches never ended`] : []),
  ];
}

/** Each measurement that was taken is stored once, with the same figure. */
function storedFaults({ events, measurements, trials }: ChaoticSweep): readonly string[] {
  const numbers = new Map(trials.map(({ id, number }) => [id, number]));
  const taken = events.flatMap((event) =>
    event.type === 'measured'
      ? [key(event.trial, event.concurrency, event.metrics.outputTokensPerSecond)]
      : [],
  );
  const stored = measurements.map(({ trialId, concurrency, metrics }) =>
    key(numbers.get(trialId) ?? -1, concurrency, metrics.outputTokensPerSecond),
  );
  return [
    ...taken.filter((one) => !stored.includes(one)).map((one) => `lost: ${one}`),
    ...stored.filter((one) => !taken.includes(one)).map((one) => `stored but never taken: ${one}`),
    ...(new Set(stored).size === stored.length ? [] : ['a measurement is stored twice']),
  ];
}

function key(trial: number, concurrency: number, tokensPerSecond: number): string {
  return `trial ${String(trial)} C=${String(concurrency)} ${String(tokensPerSecond)}`;
}

/** A complete trial has every concurrency; a broken one has all below where it broke. */
function coverageFaults({ trials, trialData, concurrencies }: ChaoticSweep): readonly string[] {
  return trials.flatMap(({ number, state }) => {
    const cells = trialData.find(({ trial }) => trial === number)?.cells ?? new Map();
    const have = concurrencies.filter((concurrency) => cells.has(concurrency));
    const name = `trial ${String(number)} (${state}) has C=${have.join(', ')}`;
    if (state === 'completed' && have.length < concurrencies.length) return [name];
    const isPrefix = have.every((concurrency, i) => concurrency === concurrencies[i]);
    return isPrefix ? [] : [name];
  });
}

/** What failed for good may not win. */
function rankingFaults({ trials, eligible }: ChaoticSweep): readonly string[] {
  return (
    trials
      .filter(({ number, isBaseline }) => eligible.includes(number) && !isBaseline)
      // One that is `planned` was complete when a full disk kept its end from being written.
      .filter(({ state }) => state === 'partial' || state === 'infeasible' || state === 'skipped')
      .map(({ number, state }) => `trial ${String(number)} may win although it is ${state}`)
  );
}
