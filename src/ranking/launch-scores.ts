import { mean } from '../metrics/statistics.ts';
import { logScore, type Profile, type ScoreKind, type Speeds } from './score.ts';
import type { Cell } from './speeds.ts';

/** What one launch says about its trial. */
export interface LaunchScore {
  /** Launches are numbered in the order of starting. */
  readonly launch: number;
  readonly round: number;
  readonly logScore: number;
}

/** One launch's speeds by concurrency, the geometric mean of its repeats. */
interface LaunchSpeeds {
  readonly launch: number;
  readonly round: number;
  readonly speeds: Speeds;
}

/** Every kind of score asks for the speeds of the same launches: a million samples are read once. */
const known = new WeakMap<ReadonlyMap<number, Cell>, readonly LaunchSpeeds[]>();

/**
 * Log score of each launch that has every weighted concurrency, in the order of starting; the
 * pieces of an interrupted round count as one launch.
 */
export function launchScores(
  kind: ScoreKind,
  profile: Profile,
  cells: ReadonlyMap<number, Cell>,
): readonly LaunchScore[] {
  const launches = known.get(cells) ?? launchSpeeds(cells);
  known.set(cells, launches);
  const scores: LaunchScore[] = [];
  for (const { launch, round, speeds } of launches) {
    const score = logScore(kind, profile, speeds);
    if (score !== undefined) scores.push({ launch, round, logScore: score });
  }
  return scores;
}

function launchSpeeds(cells: ReadonlyMap<number, Cell>): readonly LaunchSpeeds[] {
  const byLaunch = new Map<
    number,
    { launch: number; round: number; speeds: Map<number, number> }
  >();
  for (const [concurrency, { logsByLaunch, roundByLaunch }] of cells) {
    for (const [launch, logs] of logsByLaunch) {
      let own = byLaunch.get(launch);
      if (own === undefined) {
        own = { launch, round: roundByLaunch.get(launch) ?? 0, speeds: new Map() };
        byLaunch.set(launch, own);
      }
      own.speeds.set(concurrency, Math.exp(mean(logs) ?? Number.NaN));
    }
  }
  return pieced([...byLaunch.values()].sort((a, b) => a.launch - b.launch));
}

/**
 * A launch that was interrupted measured a part of its round, and the next launch of the same
 * round the rest: together they are the round's one launch, numbered as its last. Without that a
 * trial that was measured completely, in two pieces, would say nothing. Launches that share a
 * concurrency are no such pieces.
 *
 * @param launches in the order of starting.
 */
function pieced(launches: readonly LaunchSpeeds[]): readonly LaunchSpeeds[] {
  const whole: LaunchSpeeds[] = [];
  for (const next of launches) {
    const before = whole.at(-1);
    const isRest =
      before?.round === next.round && [...next.speeds.keys()].every((c) => !before.speeds.has(c));
    if (!isRest) whole.push(next);
    else whole.splice(-1, 1, { ...next, speeds: new Map([...before.speeds, ...next.speeds]) });
  }
  return whole;
}
