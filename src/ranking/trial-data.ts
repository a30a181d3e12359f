import type { Assignment } from '../search-space/assignment.ts';

/** One measurement as the ranking sees it. */
export interface CellSample {
  /** Launch it came from: variance between launches is kept apart from variance within one. */
  readonly launchId: number;
  /** Round of the launch (see phases.ts); absent counts as the first. */
  readonly round?: number;
  readonly outputTokensPerSecond: number;
  readonly throughputKind: 'steady' | 'whole-run';
  readonly tokensFrom: 'server' | 'estimated';
  /** Metrics that limits may name, e.g. `p99_ttft_ms`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Why this sample may not be ranked (mark codes such as `broken-invariant`), empty if it may. */
  readonly barredBy: readonly string[];
  readonly shortFraction: number;
}

/** One trial with all its measurements, by concurrency. */
export interface TrialData {
  readonly trial: number;
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  readonly state: 'completed' | 'partial' | 'infeasible' | 'failed';
  /** What happened where it is not completed. */
  readonly reason?: string;
  /** It was dropped in the middle of its launch, as it could not win any more (race.ts). */
  readonly dropped?: true;
  /** Concurrencies at which a launch died under load; with weight there it cannot win (A15). */
  readonly crashedAt?: readonly number[];
  readonly cells: ReadonlyMap<number, readonly CellSample[]>;
}
