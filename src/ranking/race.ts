import { type Assignment, assignmentKey } from '../search-space/assignment.ts';
import { logScore, type Profile, type ScoreKind, type Speeds } from './score.ts';

/** Cause stored with a trial that was dropped in the middle of its launch. */
export const COULD_NOT_WIN = 'could-not-win';

/** `ln (T_c / B_c)` by concurrency, against the baseline's launches nearest in time. */
export type Gains = ReadonlyMap<number, number>;

/** A trial that was measured at every weighted concurrency. */
export interface Rival {
  readonly assignment: Assignment;
  readonly gains: Gains;
  /** False where a limit or a mark keeps it from winning: then it sets no bar. */
  readonly mayWin: boolean;
}

export interface RaceInput {
  readonly kind: ScoreKind;
  readonly profile: Profile;
  /** Trials that are confirmed after the search: whoever cannot be one of them cannot win. */
  readonly places: number;
  /** The baseline's speeds, the level to which gains relate. */
  readonly baseline: Speeds;
  readonly assignment: Assignment;
  /** What is measured so far. */
  readonly gains: Gains;
  readonly rivals: readonly Rival[];
  /** Standard deviation of a score from launch to launch. */
  readonly noiseFraction: number;
}

/** Log score over the baseline's. */
interface RaceEnd {
  readonly optimistic: number;
  readonly bar: number;
}

/** Fewer rivals say too little about what is possible at a concurrency. */
const FEWEST_RIVALS = 6;
/** What an unmeasured concurrency may exceed the best seen there by: interactions not seen yet. */
const LEAST_MARGIN = 0.05;
/**
 * Deviations by which the optimistic end must miss the bar: 1 % one-sided, the difference of two
 * launches having sqrt(2) of one's noise. The bar is that of several noisy launches, which is
 * covered by its being that of the last place, not of the best.
 */
const RISK_Z = 2.33;

/**
 * How a trial that cannot win any more would end at best; undefined while it could win.
 *
 * Concurrencies not measured yet are taken at the best gain that any trial showed there, plus the
 * distance of that from the median (5 % at least); the bar is the last place among the trials to
 * confirm, or the baseline where fewer are above it. Nothing is dropped before six trials are
 * complete and each of the assignment's values was seen complete: a value that turns the order of
 * concurrencies (speculation off) shows that at the high ones only. The winner is dropped in less
 * than 1 % of sweeps (test/unit/ranking/race.test.ts).
 */
export function lostRace(input: RaceInput): RaceEnd | undefined {
  const { profile, gains, rivals, assignment, noiseFraction } = input;
  const weighted = [...profile].filter(([, weight]) => weight > 0).map(([c]) => c);
  if (rivals.length < FEWEST_RIVALS || !weighted.some((c) => gains.has(c))) return undefined;
  if (!isFamiliar(assignment, rivals)) return undefined;
  const atBest = new Map(
    weighted.map((c) => [
      c,
      gains.get(c) ?? mostPossible(rivals.map((rival) => rival.gains.get(c) ?? 0)),
    ]),
  );
  const optimistic = scoreOf(atBest, input);
  const scores = rivals
    .filter(({ mayWin }) => mayWin)
    .map((rival) => scoreOf(rival.gains, input))
    .sort((a, b) => b - a);
  const bar = Math.max(0, scores[input.places - 1] ?? 0);
  return optimistic + RISK_Z * Math.SQRT2 * noiseFraction < bar ? { optimistic, bar } : undefined;
}

function isFamiliar(assignment: Assignment, rivals: readonly Rival[]): boolean {
  const seen = new Set(
    rivals.flatMap((rival) =>
      Object.entries(rival.assignment).map(([name, value]) => assignmentKey({ [name]: value })),
    ),
  );
  return Object.entries(assignment).every(([name, value]) =>
    seen.has(assignmentKey({ [name]: value })),
  );
}

/** The largest of the gains, 0 (the baseline's own) among them, and a margin over it. */
function mostPossible(seen: readonly number[]): number {
  const ascending = [...seen, 0].sort((a, b) => a - b);
  const most = ascending.at(-1) ?? 0;
  const middle = ascending[Math.floor(ascending.length / 2)] ?? 0;
  return most + Math.max(LEAST_MARGIN, most - middle);
}

function scoreOf(gains: Gains, { kind, profile, baseline }: RaceInput): number {
  const speeds = new Map(
    [...baseline].map(([c, speed]) => [c, speed * Math.exp(gains.get(c) ?? 0)]),
  );
  const weighted = new Map([...profile].filter(([, weight]) => weight > 0));
  const own = logScore(kind, weighted, speeds);
  const level = logScore(kind, weighted, baseline);
  // Without a baseline at some concurrency nothing can be said, and nothing is dropped.
  return own === undefined || level === undefined ? Number.POSITIVE_INFINITY : own - level;
}
