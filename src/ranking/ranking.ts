import type { Assignment } from '../search-space/assignment.ts';
import type { Ineligibility } from './eligibility.ts';
import type { Evidence } from './noise.ts';
import type { ParetoSet } from './pareto.ts';
import type { Profile, ScoreKind } from './score.ts';
import type { ThroughputKind } from './speeds.ts';

/** Two-sided interval [low, high] at the ranking's confidence. */
export type ScoreInterval = readonly [number, number];

export interface RankedCell {
  readonly outputTokensPerSecond: number;
  /** Share by which it differs from the baseline's; null without one. */
  readonly changeFraction: number | null;
  /** Measurements it rests on. */
  readonly n: number;
  readonly throughputKind: ThroughputKind;
}

export interface RankedTrial {
  /** 1 is the best; null for a trial that is not eligible. */
  readonly rank: number | null;
  readonly trial: number;
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  readonly eligible: boolean;
  /** Empty when eligible. */
  readonly reasons: readonly Ineligibility[];
  /**
   * `relative`: throughput as a multiple of the baseline's; else tokens per second. Null when a
   * weighted concurrency is not measured.
   */
  readonly score: number | null;
  /** Null where the trial's measurements are not repeated. Includes the baseline's noise if relative. */
  readonly scoreInterval: ScoreInterval | null;
  readonly evidence: Evidence;
  /**
   * Launches that confirm it without having selected it; score and interval then rest on them
   * alone. 0: not confirmed, the score includes the launches it was chosen by.
   */
  readonly confirmingLaunches: number;
  /**
   * Eligible trials that cannot be told from this one, best first; at most the 100 next to it on
   * either side.
   */
  readonly tiedWith: readonly number[];
  /** Parameters that differ from the baseline's. */
  readonly changedParameters: number;
  readonly scoreByKind: Readonly<Record<ScoreKind, number | null>>;
  /** Every measured concurrency, ascending. */
  readonly perConcurrency: ReadonlyMap<number, RankedCell>;
}

/** A remark on the ranking as a whole; formatted in report/. */
export type RankingNote =
  /** Not every trial has a steady window there, so whole runs are compared for all. */
  | { readonly code: 'whole-run'; readonly concurrencies: readonly number[] }
  /** No trial's tokens were counted by the server. */
  | { readonly code: 'estimated-tokens' }
  | { readonly code: 'no-baseline' }
  | {
      readonly code: 'evidence';
      readonly evidence: Evidence;
      /** A smaller difference is a tie, as the noise of launches is not known; 0 where it is. */
      readonly unknownTieFraction: number;
    }
  /** Finalists are judged by launches that did not select them. */
  | {
      readonly code: 'confirmed';
      readonly rounds: number;
      readonly finalists: number;
      /** Standard deviation of one launch's score, as a share. */
      readonly noiseFraction: number;
      /** Rounds that do not count because the baseline jumped. */
      readonly voidRounds: number;
    }
  /** The baseline's level changed beyond noise while the study ran. */
  | { readonly code: 'drift'; readonly rangeFraction: number };

export interface Ranking {
  readonly scoreKind: ScoreKind;
  readonly profile: Profile;
  readonly confidence: number;
  readonly evidence: Evidence;
  /** Eligible ones by rank, then the others by trial number. */
  readonly trials: readonly RankedTrial[];
  /** Trial that wins by each kind, ties resolved; null where there is none. */
  readonly winnerByKind: Readonly<Record<ScoreKind, number | null>>;
  readonly kindsDisagree: boolean;
  /** Score against p99 latencies; empty where no trial knows a latency. */
  readonly paretoSets: readonly ParetoSet[];
  readonly notes: readonly RankingNote[];
}
