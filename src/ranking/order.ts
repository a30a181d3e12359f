import type { Estimate } from './noise.ts';

/** A trial in the running, as far as its place depends on it. */
export interface Contender {
  readonly trial: number;
  readonly isBaseline: boolean;
  readonly changedParameters: number;
  readonly estimate: Estimate;
}

export interface Placed {
  readonly trial: number;
  /** Best first; at most {@link TIES_LISTED} on either side. */
  readonly tiedWith: readonly number[];
}

type TieWidth = (a: Estimate, b: Estimate) => number;

/** Ties listed per trial above and below it: thousands that all tie would be millions of pairs. */
export const TIES_LISTED = 100;

/**
 * Contenders from best to worst with their ties.
 *
 * By score, except at the top: among those that cannot be told from the best, the one nearest to
 * the baseline leads (the baseline itself, then the fewest changed parameters, then the score).
 * Where the baseline is not among them, only those lead that are told from it too. Once trials are
 * confirmed by launches that did not select them, only confirmed ones lead.
 */
export function placed(contenders: readonly Contender[], tieWidth: TieWidth): readonly Placed[] {
  const byScore = [...contenders].sort(
    (a, b) => b.estimate.logScore - a.estimate.logScore || nearness(a, b) || a.trial - b.trial,
  );
  const leader = leaderOf(byScore, tieWidth);
  if (leader === undefined) return [];
  const ties = tiesOf(byScore, tieWidth);
  const order = [leader, ...byScore.filter((contender) => contender !== leader)];
  return order.map(({ trial }) => ({ trial, tiedWith: ties.get(trial) ?? [] }));
}

function leaderOf(byScore: readonly Contender[], tieWidth: TieWidth): Contender | undefined {
  const confirmed = byScore.filter(({ estimate }) => estimate.confirmedRounds !== undefined);
  const running = confirmed.length > 0 ? confirmed : byScore;
  const [best] = running;
  if (best === undefined) return undefined;
  const apart = (a: Contender, b: Contender) =>
    Math.abs(a.estimate.logScore - b.estimate.logScore) > tieWidth(a.estimate, b.estimate);
  const atTop = running.filter((one) => one === best || !apart(best, one));
  const baseline = running.find(({ isBaseline }) => isBaseline);
  if (baseline === undefined || atTop.includes(baseline)) return nearest(atTop);
  return nearest(atTop.filter((one) => apart(one, baseline)));
}

function nearest(contenders: readonly Contender[]): Contender | undefined {
  const [first, ...others] = contenders;
  if (first === undefined) return undefined;
  return others.reduce((a, b) => (nearness(b, a) < 0 ? b : a), first);
}

function nearness(a: Contender, b: Contender): number {
  return Number(b.isBaseline) - Number(a.isBaseline) || a.changedParameters - b.changedParameters;
}

/** Ties of each contender, best first. Compares neighbours outward until none can tie any more. */
function tiesOf(
  byScore: readonly Contender[],
  tieWidth: TieWidth,
): ReadonlyMap<number, readonly number[]> {
  const above = new Map<number, number[]>(byScore.map(({ trial }) => [trial, []]));
  const below = new Map<number, number[]>(byScore.map(({ trial }) => [trial, []]));
  const noisiest = widest(byScore);
  for (const [i, a] of byScore.entries()) {
    const reach = noisiest === undefined ? 0 : tieWidth(a.estimate, noisiest);
    const own = below.get(a.trial) ?? [];
    for (let j = i + 1; j < byScore.length && own.length < TIES_LISTED; j += 1) {
      const b = byScore[j];
      if (b === undefined) break;
      const gap = a.estimate.logScore - b.estimate.logScore;
      if (gap > reach) break;
      if (gap > tieWidth(a.estimate, b.estimate)) continue;
      own.push(b.trial);
      const others = above.get(b.trial);
      if (others !== undefined && others.length < TIES_LISTED) others.push(a.trial);
    }
  }
  return new Map(
    byScore.map(({ trial }) => [trial, [...(above.get(trial) ?? []), ...(below.get(trial) ?? [])]]),
  );
}

/** An estimate as noisy as the noisiest in every respect: no pair's tie width exceeds its. */
function widest(contenders: readonly Contender[]): Estimate | undefined {
  const [first] = contenders;
  if (first === undefined) return undefined;
  let standardError = 0;
  let degreesOfFreedom = Number.POSITIVE_INFINITY;
  for (const { estimate } of contenders) {
    standardError = Math.max(standardError, estimate.standardError ?? 0);
    degreesOfFreedom = Math.min(degreesOfFreedom, estimate.degreesOfFreedom);
  }
  const { logScore, isReplicated } = first.estimate;
  return { logScore, standardError, degreesOfFreedom, isReplicated };
}
