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

/** Log score of each launch that has every weighted concurrency, in the order of starting. */
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
  return [...byLaunch.values()].sort((a, b) => a.launch - b.launch);
}
