import { weightCrossovers } from '../ranking/crossovers.ts';
import { decide } from '../ranking/decide.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { ineligibilitiesText } from './ineligibility-text.ts';

/**
 * A ranking as JSON, the shape that scripts rely on (README, "rank --json"). Figures are numbers
 * or null, never NaN; `score_ci` is [low, high] or null ("unreplicated").
 */
export function rankingJson(study: string, ranking: Ranking) {
  return {
    study,
    score_kind: ranking.scoreKind,
    profile: Object.fromEntries(ranking.profile),
    confidence: ranking.confidence,
    evidence: ranking.evidence,
    kinds_disagree: ranking.kindsDisagree,
    winner_by_kind: ranking.winnerByKind,
    decision: decide(ranking).kind,
    ranking: ranking.trials.map(rowJson),
    crossovers: weightCrossovers(ranking).map((crossover) => ({
      score_kind: crossover.scoreKind,
      concurrency: crossover.concurrency,
      weight: crossover.weight,
      current_weight: crossover.currentWeight,
      winner_below: crossover.below,
      winner_above: crossover.above,
    })),
    pareto: ranking.paretoSets.map(({ latency, concurrency, front }) => ({
      latency,
      concurrency,
      front: front.map(({ trial, score, latencyMs }) => ({ trial, score, latency_ms: latencyMs })),
    })),
    notes: ranking.notes,
  };
}

function rowJson(row: RankedTrial) {
  return {
    rank: row.rank,
    trial: row.trial,
    assignment: row.assignment,
    is_baseline: row.isBaseline,
    eligible: row.eligible,
    reason: ineligibilitiesText(row.reasons),
    score: row.score,
    score_ci: row.scoreInterval,
    evidence: row.evidence,
    tied_with: row.tiedWith,
    score_by_kind: row.scoreByKind,
    per_concurrency: Object.fromEntries(
      [...row.perConcurrency].map(([concurrency, cell]) => [
        String(concurrency),
        {
          output_tokens_per_second: cell.outputTokensPerSecond,
          change_fraction: cell.changeFraction,
          n: cell.n,
        },
      ]),
    ),
  };
}
