import type { Ineligibility } from './eligibility.ts';
import type { RankedTrial, Ranking } from './ranking.ts';

/** What to do with a ranking. */
export type Decision =
  /** Beyond noise better than the baseline, or the baseline itself cannot win. */
  | {
      readonly kind: 'winner';
      readonly winner: RankedTrial;
      /** Null: no baseline in the study, so it is the best of what is there. */
      readonly baseline: RankedTrial | null;
      /** Why the baseline is out of the running; empty when the winner beat it. */
      readonly baselineIneligible: readonly Ineligibility[];
      /** Launches that confirmed the stated gain; 0: it rests on the launches that chose it. */
      readonly confirmingLaunches: number;
    }
  /** No significant win over the baseline: keep what you have. */
  | {
      readonly kind: 'keep';
      readonly baseline: RankedTrial;
      /** Best of the others by score, and whether it ties; null when no other is eligible. */
      readonly runnerUp: RankedTrial | null;
      readonly isTie: boolean;
    }
  /** Nothing survived the profile, or nothing meets the limits. */
  | { readonly kind: 'nothing-feasible'; readonly trials: readonly RankedTrial[] };

/** The decision a ranking carries; ties are resolved in it already (the baseline leads its ties). */
export function decide(ranking: Ranking): Decision {
  const [leader, second] = ranking.trials.filter(({ eligible }) => eligible);
  const baseline = ranking.trials.find(({ isBaseline }) => isBaseline) ?? null;
  if (leader === undefined) return { kind: 'nothing-feasible', trials: ranking.trials };
  if (!leader.isBaseline) {
    return {
      kind: 'winner',
      winner: leader,
      baseline,
      baselineIneligible: baseline?.reasons ?? [],
      confirmingLaunches: leader.confirmingLaunches,
    };
  }
  const isTie = second !== undefined && leader.tiedWith.includes(second.trial);
  return { kind: 'keep', baseline: leader, runnerUp: second ?? null, isTie };
}
