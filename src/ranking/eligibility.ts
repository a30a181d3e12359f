import { mean, sum } from '../metrics/statistics.ts';
import { type Limit, meets, WORST_CONCURRENCY } from './limits.ts';
import type { Profile } from './score.ts';
import { type Cell, usable } from './speeds.ts';
import type { CellSample, TrialData } from './trial-data.ts';

/** Why a trial cannot win; sentences are made in report/. */
export type Ineligibility =
  | { readonly code: 'infeasible' | 'failed' | 'dropped'; readonly reason: string }
  /** `concurrency` null: somewhere, which was not recorded. */
  | { readonly code: 'crashed'; readonly concurrency: number | null; readonly reason: string }
  | { readonly code: 'not-measured'; readonly concurrency: number }
  | { readonly code: 'barred'; readonly concurrency: number; readonly marks: readonly string[] }
  | {
      readonly code: 'failed-requests';
      readonly concurrency: number;
      readonly failureFraction: number;
    }
  | { readonly code: 'estimated-tokens'; readonly concurrency: number }
  | {
      readonly code: 'short-answers';
      readonly shortFraction: number;
      readonly baselineShortFraction: number;
    }
  | {
      readonly code: 'limit';
      readonly limit: string;
      readonly concurrency: number;
      readonly value: number;
    }
  | { readonly code: 'limit-unknown'; readonly limit: string; readonly concurrency: number };

/** A measurement with more failed requests than this does not count (field report C17). */
export const MAX_FAILURE_FRACTION = 0.05;

/** Shares of short answers further apart than this are not like for like ("a few percent", C8). */
const SHORT_TOLERANCE = 0.05;
/** One-sided normal quantile of 0.5 %: few answers differ by chance (one of four is 25 %). */
const SHORT_Z = 2.58;

export interface EligibilityInput {
  readonly trial: TrialData;
  readonly baseline: TrialData | undefined;
  readonly cells: ReadonlyMap<number, Cell>;
  readonly baselineCells: ReadonlyMap<number, Cell> | undefined;
  /** Without the concurrencies of weight 0. */
  readonly profile: Profile;
  readonly limits: readonly Limit[];
  /** Some trial's tokens were counted by the server at every weighted concurrency. */
  readonly someAreExact: boolean;
  /** Concurrencies measured on any trial. */
  readonly measured: ReadonlySet<number>;
}

/** Everything that keeps a trial from winning at this profile; empty when it may. */
export function ineligibilities(input: EligibilityInput): readonly Ineligibility[] {
  const { trial, profile } = input;
  const reason = trial.reason ?? '';
  if (trial.state === 'infeasible') return [{ code: 'infeasible', reason }];
  if (trial.state === 'failed' && trial.cells.size === 0) return [{ code: 'failed', reason }];
  if (trial.dropped === true) return [{ code: 'dropped', reason }];
  const reasons = [...crashes(input), ...[...profile.keys()].flatMap((c) => cellReasons(input, c))];
  // Without complete cells nothing else can be judged.
  if (reasons.length > 0) return reasons;
  return [...shortAnswers(input), ...input.limits.flatMap((limit) => limitReasons(limit, input))];
}

function crashes({ trial, profile, cells, measured }: EligibilityInput): Ineligibility[] {
  const reason = trial.reason ?? '';
  const known = trial.crashedAt ?? [];
  const weighted = known.filter((concurrency) => profile.has(concurrency));
  if (weighted.length > 0) {
    return weighted.map((concurrency) => ({ code: 'crashed', concurrency, reason }));
  }
  if (trial.state !== 'partial' || known.length > 0) return [];
  // It broke off somewhere. A hole elsewhere explains that; with no hole it was a repeat (A15).
  const holes = [...measured].filter((concurrency) => !cells.has(concurrency));
  return holes.length > 0 ? [] : [{ code: 'crashed', concurrency: null, reason }];
}

function cellReasons(
  { trial, someAreExact }: EligibilityInput,
  concurrency: number,
): Ineligibility[] {
  const all = trial.cells.get(concurrency) ?? [];
  const samples = usable(all);
  const marks = [...new Set(all.flatMap(({ barredBy }) => barredBy))];
  if (all.length === 0) return [{ code: 'not-measured', concurrency }];
  const failureFraction = Math.max(...all.map((s) => s.metrics['failure_fraction'] ?? 0));
  const failures: Ineligibility[] =
    failureFraction > MAX_FAILURE_FRACTION
      ? [{ code: 'failed-requests', concurrency, failureFraction }]
      : [];
  // A run that broke off disqualifies although its repeats went well; other marks only void a run.
  if (samples.length === 0 || marks.includes('partial')) {
    return [...failures, { code: 'barred', concurrency, marks }];
  }
  if (failures.length > 0) return failures;
  const isEstimated = samples.some(({ tokensFrom }) => tokensFrom === 'estimated');
  return isEstimated && someAreExact ? [{ code: 'estimated-tokens', concurrency }] : [];
}

/** Two shares differ when they are apart by more than tolerance and chance (pooled z test). */
function shortAnswers({ trial, baseline, profile }: EligibilityInput): Ineligibility[] {
  if (baseline === undefined || baseline === trial) return [];
  const own = shortShare(trial, profile);
  const reference = shortShare(baseline, profile);
  if (own === undefined || reference === undefined) return [];
  const gap = Math.abs(own.share - reference.share);
  const pooled = (own.short + reference.short) / (own.completed + reference.completed);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / own.completed + 1 / reference.completed));
  if (gap <= SHORT_TOLERANCE || gap <= SHORT_Z * error) return [];
  return [
    {
      code: 'short-answers',
      shortFraction: own.share,
      baselineShortFraction: reference.share,
    },
  ];
}

function shortShare({ cells }: TrialData, profile: Profile) {
  const samples = [...profile.keys()].flatMap((c) => usable(cells.get(c)));
  const known = samples.filter((s) => s.metrics['short_fraction'] !== undefined);
  const completed = sum(known.map((s) => s.metrics['completed'] ?? 0));
  if (completed === 0) return undefined;
  const short = sum(known.map((s) => s.shortFraction * (s.metrics['completed'] ?? 0)));
  return { short, completed, share: short / completed };
}

function limitReasons(limit: Limit, input: EligibilityInput): Ineligibility[] {
  if (limit.metric === WORST_CONCURRENCY) return worstConcurrency(limit, input);
  return [...input.profile.keys()].flatMap((concurrency): Ineligibility[] => {
    const samples = usable(input.trial.cells.get(concurrency));
    const value = meanMetric(samples, limit.metric);
    if (value === undefined) return [{ code: 'limit-unknown', limit: limit.text, concurrency }];
    return meets(limit, value) ? [] : [{ code: 'limit', limit: limit.text, concurrency, value }];
  });
}

/** Mean over the samples; undefined when any of them does not know the metric. */
function meanMetric(samples: readonly CellSample[], metric: string): number | undefined {
  const values = samples.map((sample) => sample.metrics[metric]);
  return values.includes(undefined) ? undefined : mean(values.filter((v) => v !== undefined));
}

function worstConcurrency(limit: Limit, { cells, baselineCells, profile }: EligibilityInput) {
  return [...profile.keys()].flatMap((concurrency): Ineligibility[] => {
    const own = cells.get(concurrency)?.outputTokensPerSecond;
    const reference = baselineCells?.get(concurrency)?.outputTokensPerSecond;
    if (own === undefined || reference === undefined) {
      return [{ code: 'limit-unknown', limit: limit.text, concurrency }];
    }
    const value = own / reference;
    return meets(limit, value) ? [] : [{ code: 'limit', limit: limit.text, concurrency, value }];
  });
}
