import type { Ineligibility } from './eligibility.ts';
import type { Estimates } from './estimates.ts';
import { type Estimate, halfWidth } from './noise.ts';
import type { Placed } from './order.ts';
import type { RankedCell, RankedTrial, ScoreInterval } from './ranking.ts';
import type { ScoreKind } from './score.ts';
import type { Cell } from './speeds.ts';
import type { TrialData } from './trial-data.ts';

/** A trial with what is derived from its samples once. */
export interface Judged {
  readonly data: TrialData;
  readonly cells: ReadonlyMap<number, Cell>;
  readonly reasons: readonly Ineligibility[];
  readonly changedParameters: number;
}

export type EstimatesByKind = Readonly<Record<ScoreKind, Estimates>>;

/** What a row needs beside its own trial. */
export interface RowContext {
  readonly scoreKind: ScoreKind;
  readonly estimates: EstimatesByKind;
  readonly reference: Judged | undefined;
  readonly confidence: number;
  readonly places: readonly Placed[];
}

/** One row of the ranking. */
export function rankedTrial(trial: Judged, context: RowContext): RankedTrial {
  const { scoreKind, estimates, reference, confidence, places } = context;
  const place = places.findIndex((placed) => placed.trial === trial.data.trial);
  const own = estimateOf(trial, estimates[scoreKind]);
  const base = reference && estimateOf(reference, estimates[scoreKind]);
  return {
    rank: place < 0 ? null : place + 1,
    trial: trial.data.trial,
    assignment: trial.data.assignment,
    isBaseline: trial.data.isBaseline,
    eligible: trial.reasons.length === 0,
    reasons: trial.reasons,
    score: scoreOf(scoreKind, own, base),
    scoreInterval: intervalOf(own, trial === reference ? undefined : base, context, confidence),
    evidence: own?.isReplicated === true ? estimates[scoreKind].evidence : 'unreplicated',
    confirmingLaunches: own?.confirmedRounds ?? 0,
    tiedWith: places[place]?.tiedWith ?? [],
    changedParameters: trial.changedParameters,
    scoreByKind: {
      relative: scoreByKind('relative', trial, context),
      time: scoreByKind('time', trial, context),
      tokens: scoreByKind('tokens', trial, context),
    },
    perConcurrency: rankedCells(trial.cells, reference?.cells),
  };
}

function estimateOf({ data, cells }: Judged, estimates: Estimates): Estimate | undefined {
  return estimates.of({ trial: data.trial, isBaseline: data.isBaseline, cells });
}

function scoreByKind(kind: ScoreKind, trial: Judged, { estimates, reference }: RowContext) {
  return scoreOf(
    kind,
    estimateOf(trial, estimates[kind]),
    reference && estimateOf(reference, estimates[kind]),
  );
}

function scoreOf(
  kind: ScoreKind,
  own: Estimate | undefined,
  baseline: Estimate | undefined,
): number | null {
  if (own === undefined) return null;
  if (kind !== 'relative') return Math.exp(own.logScore);
  return baseline === undefined ? null : Math.exp(own.logScore - baseline.logScore);
}

/** The baseline's own relative interval is its own noise around 1. */
function intervalOf(
  own: Estimate | undefined,
  baseline: Estimate | undefined,
  { scoreKind, estimates, reference }: RowContext,
  confidence: number,
): ScoreInterval | null {
  if (own?.isReplicated !== true) return null;
  const isRelative = scoreKind === 'relative';
  if (isRelative && reference === undefined) return null;
  const half =
    isRelative && baseline !== undefined
      ? estimates[scoreKind].halfWidthOfDifference(own, baseline, confidence)
      : halfWidth(own, confidence);
  if (half === undefined) return null;
  const base = isRelative ? (baseline ?? own).logScore : 0;
  const centre = own.logScore - base;
  return [Math.exp(centre - half), Math.exp(centre + half)];
}

function rankedCells(
  cells: ReadonlyMap<number, Cell>,
  baseline: ReadonlyMap<number, Cell> | undefined,
): ReadonlyMap<number, RankedCell> {
  return new Map(
    [...cells].map(([concurrency, { outputTokensPerSecond, n, throughputKind }]) => {
      const reference = baseline?.get(concurrency)?.outputTokensPerSecond;
      const changeFraction = reference === undefined ? null : outputTokensPerSecond / reference - 1;
      return [concurrency, { outputTokensPerSecond, changeFraction, n, throughputKind }];
    }),
  );
}
