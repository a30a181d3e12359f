import { weighted, withWeight } from './profile.ts';
import type { RankedTrial, Ranking } from './ranking.ts';
import { type Profile, type ScoreKind, scoreKinds, term } from './score.ts';

/**
 * The winner changes from `below` to `above` when the weight of `concurrency` passes `weight`,
 * the others' weights scaled alike to make room.
 */
export interface WeightCrossover {
  readonly scoreKind: ScoreKind;
  readonly concurrency: number;
  readonly weight: number;
  /** Weight in the ranking's profile. */
  readonly currentWeight: number;
  readonly below: number;
  readonly above: number;
}

/** Two trials' speeds cross between two measured concurrencies. */
export interface SpeedCrossing {
  /** Faster below. */
  readonly below: number;
  readonly above: number;
  readonly between: readonly [number, number];
  /** Where the ratio is 1, interpolated on logarithmic axes: an estimate, not a measurement. */
  readonly concurrency: number;
}

/** How many of the best by each kind, besides the baseline, take part. */
const TOP = 5;

/**
 * Every weight at which another of the top configurations wins, by kind of score and concurrency
 * whose weight is moved, ascending by weight. Point scores, ties not resolved.
 *
 * Each kind compares a sum that is linear in the weights, so a pair crosses at
 * `A / (A - B)`, with A its difference on the rest of the profile and B at the concurrency alone.
 */
export function weightCrossovers(ranking: Ranking): readonly WeightCrossover[] {
  const profile = weighted(ranking.profile);
  const kinds = scoreKinds.filter((kind) => ranking.winnerByKind[kind] !== null);
  return kinds.flatMap((kind) => {
    const top = topTrials(ranking, kind);
    return sharedConcurrencies(top).flatMap((concurrency) =>
      crossoversAt(kind, profile, concurrency, top),
    );
  });
}

/** Where the speeds of the winner and the baseline (or the second) cross, ascending. */
export function speedCrossings(a: RankedTrial, b: RankedTrial): readonly SpeedCrossing[] {
  const logRatios = sharedConcurrencies([a, b]).map((concurrency) => ({
    concurrency,
    log: Math.log(speedAt(a, concurrency) / speedAt(b, concurrency)),
  }));
  return logRatios.flatMap((left, i) => {
    const right = logRatios[i + 1];
    if (right === undefined || left.log * right.log >= 0) return [];
    const share = left.log / (left.log - right.log);
    const [from, to] = [left.concurrency, right.concurrency];
    return {
      below: left.log > 0 ? a.trial : b.trial,
      above: left.log > 0 ? b.trial : a.trial,
      between: [from, to] as const,
      concurrency: from * (to / from) ** share,
    };
  });
}

function topTrials({ trials }: Ranking, kind: ScoreKind): readonly RankedTrial[] {
  const eligible = trials.filter((trial) => trial.eligible);
  const best = [...eligible].sort(
    (a, b) => (b.scoreByKind[kind] ?? 0) - (a.scoreByKind[kind] ?? 0),
  );
  const baseline = eligible.filter(({ isBaseline }) => isBaseline);
  return [...new Set([...best.slice(0, TOP), ...baseline])];
}

/** Concurrencies that all of them are measured at, ascending. */
function sharedConcurrencies(trials: readonly RankedTrial[]): readonly number[] {
  const [first, ...others] = trials;
  const all = [...(first?.perConcurrency.keys() ?? [])].sort((a, b) => a - b);
  return all.filter((c) => others.every(({ perConcurrency }) => perConcurrency.has(c)));
}

/** A trial's sum as a line over the moved weight; the higher the better. */
interface Line {
  readonly trial: number;
  /** Value at weight 0 and at weight 1. */
  readonly rest: number;
  readonly alone: number;
}

function crossoversAt(
  scoreKind: ScoreKind,
  profile: Profile,
  concurrency: number,
  trials: readonly RankedTrial[],
): readonly WeightCrossover[] {
  const rest = withWeight(profile, concurrency, 0);
  if (rest === undefined) return [];
  const currentWeight = profile.get(concurrency) ?? 0;
  const lines = trials.map((trial) => lineOf(scoreKind, rest, concurrency, trial));
  return envelope(lines).map(({ weight, below, above }) => {
    return { scoreKind, concurrency, weight, currentWeight, below, above };
  });
}

function lineOf(kind: ScoreKind, rest: Profile, concurrency: number, trial: RankedTrial): Line {
  // Seconds per token: less is better.
  const sign = kind === 'tokens' ? -1 : 1;
  let sum = 0;
  for (const [c, weight] of rest) if (weight > 0) sum += weight * term(kind, speedAt(trial, c));
  return {
    trial: trial.trial,
    rest: sign * sum,
    alone: sign * term(kind, speedAt(trial, concurrency)),
  };
}

/** Where the highest of the lines changes, for weights above 0 and below 1. */
function envelope(lines: readonly Line[]): { weight: number; below: number; above: number }[] {
  const changes: { weight: number; below: number; above: number }[] = [];
  let current = highestAtZero(lines);
  let weight = 0;
  while (current !== undefined) {
    const next = nextAbove(current, lines, weight);
    if (next === undefined) break;
    changes.push({ weight: next.weight, below: current.trial, above: next.line.trial });
    current = next.line;
    weight = next.weight;
  }
  return changes;
}

function highestAtZero(lines: readonly Line[]): Line | undefined {
  return [...lines].sort((a, b) => b.rest - a.rest || b.alone - a.alone)[0];
}

/** The first line that crosses `current` from below after `weight`; the steepest of equal ones. */
function nextAbove(current: Line, lines: readonly Line[], weight: number) {
  const slope = (line: Line) => line.alone - line.rest;
  return lines
    .filter((line) => slope(line) > slope(current))
    .map((line) => {
      const atRest = current.rest - line.rest;
      return { line, weight: atRest / (atRest - (current.alone - line.alone)) };
    })
    .filter((crossing) => crossing.weight > weight && crossing.weight < 1)
    .sort((a, b) => a.weight - b.weight || slope(b.line) - slope(a.line))[0];
}

function speedAt({ perConcurrency }: RankedTrial, concurrency: number): number {
  return perConcurrency.get(concurrency)?.outputTokensPerSecond ?? Number.NaN;
}
