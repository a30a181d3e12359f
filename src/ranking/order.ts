import { type Estimate, type Evidence, tieWidth } from './noise.ts';

/** A trial in the running, as far as its place depends on it. */
export interface Contender {
  readonly trial: number;
  readonly isBaseline: boolean;
  readonly changedParameters: number;
  readonly estimate: Estimate;
}

export interface Placed {
  readonly trial: number;
  readonly tiedWith: readonly number[];
}

/**
 * Contenders from best to worst with their ties.
 *
 * By score, except at the top: among those that cannot be told from the best, the one nearest to
 * the baseline leads (the baseline itself, then the fewest changed parameters, then the score).
 */
export function placed(
  contenders: readonly Contender[],
  evidence: Evidence,
  confidence: number,
): readonly Placed[] {
  const byScore = [...contenders].sort(
    (a, b) => b.estimate.logScore - a.estimate.logScore || nearness(a, b) || a.trial - b.trial,
  );
  const best = byScore[0];
  if (best === undefined) return [];
  const ties = tiesOf(byScore, evidence, confidence);
  const atTop = new Set([best.trial, ...(ties.get(best.trial) ?? [])]);
  const leader = byScore
    .filter(({ trial }) => atTop.has(trial))
    .reduce((a, b) => (nearness(b, a) < 0 ? b : a));
  const order = [leader, ...byScore.filter((contender) => contender !== leader)];
  return order.map(({ trial }) => ({ trial, tiedWith: ties.get(trial) ?? [] }));
}

function nearness(a: Contender, b: Contender): number {
  return Number(b.isBaseline) - Number(a.isBaseline) || a.changedParameters - b.changedParameters;
}

/** Ties of each contender, best first. Compares neighbours outward until none can tie any more. */
function tiesOf(
  byScore: readonly Contender[],
  evidence: Evidence,
  confidence: number,
): ReadonlyMap<number, readonly number[]> {
  const ties = new Map<number, number[]>(byScore.map(({ trial }) => [trial, []]));
  const noisiest = widest(byScore);
  for (const [i, a] of byScore.entries()) {
    const reach = noisiest === undefined ? 0 : tieWidth(a.estimate, noisiest, evidence, confidence);
    for (const b of byScore.slice(i + 1)) {
      const gap = a.estimate.logScore - b.estimate.logScore;
      if (gap > reach) break;
      if (gap > tieWidth(a.estimate, b.estimate, evidence, confidence)) continue;
      ties.get(a.trial)?.push(b.trial);
      ties.get(b.trial)?.push(a.trial);
    }
  }
  return ties;
}

/** An estimate as noisy as the noisiest in every respect: no pair's tie width exceeds its. */
function widest(contenders: readonly Contender[]): Estimate | undefined {
  const [first] = contenders;
  if (first === undefined) return undefined;
  const estimates = contenders.map(({ estimate }) => estimate);
  return {
    ...first.estimate,
    standardError: estimates.reduce((max, e) => Math.max(max, e.standardError ?? 0), 0),
    degreesOfFreedom: estimates.reduce(
      (min, e) => Math.min(min, e.degreesOfFreedom),
      Number.POSITIVE_INFINITY,
    ),
  };
}
