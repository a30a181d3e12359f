import type { CellSample, TrialData } from '../../../src/ranking/trial-data.ts';

/** One usable sample; `over` replaces what the test is about. */
export function sample(speed: number, over: Partial<CellSample> = {}): CellSample {
  return {
    launchId: 1,
    outputTokensPerSecond: speed,
    throughputKind: 'steady',
    tokensFrom: 'server',
    metrics: {},
    barredBy: [],
    shortFraction: 0,
    ...over,
  };
}

/** A completed trial with one sample per concurrency; trial 0 is the baseline. */
export function trial(
  number: number,
  speeds: Readonly<Record<number, number | readonly CellSample[]>>,
  over: Partial<TrialData> = {},
): TrialData {
  const cells = Object.entries(speeds).map(
    ([c, speed]) => [Number(c), typeof speed === 'number' ? [sample(speed)] : speed] as const,
  );
  return {
    trial: number,
    assignment: number === 0 ? {} : { variant: number },
    isBaseline: number === 0,
    state: 'completed',
    cells: new Map(cells),
    ...over,
  };
}

/** `1:0.5,4:0.5` as a profile. */
export function profile(text: string): ReadonlyMap<number, number> {
  return new Map(
    text.split(',').map((part) => {
      const [concurrency = Number.NaN, weight = Number.NaN] = part.split(':').map(Number);
      return [concurrency, weight];
    }),
  );
}

/** The measured tables of the reference case. */
export const NO_MTP = { 1: 108, 4: 286, 16: 873, 32: 1359, 64: 2327, 128: 2800 };
export const MTP = { 1: 121.5, 4: 400.5, 16: 1209, 32: 1502, 64: 1571, 128: 1635 };
