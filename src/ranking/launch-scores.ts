import { mean } from '../metrics/statistics.ts';
import { logScore, type Profile, type ScoreKind } from './score.ts';
import type { Cell } from './speeds.ts';

/** What one launch says about its trial. */
export interface LaunchScore {
  /** Launches are numbered in the order of starting. */
  readonly launch: number;
  readonly round: number;
  readonly logScore: number;
}

/** Log score of each launch that has every weighted concurrency, in the order of starting. */
export function launchScores(
  kind: ScoreKind,
  profile: Profile,
  cells: ReadonlyMap<number, Cell>,
): readonly LaunchScore[] {
  const [first] = [...profile.keys()].flatMap((concurrency) => cells.get(concurrency) ?? []);
  if (first === undefined) return [];
  const launches = [...first.logsByLaunch.keys()].sort((a, b) => a - b);
  return launches.flatMap((launch) => {
    const speeds = new Map<number, number>();
    for (const concurrency of profile.keys()) {
      const logs = mean(cells.get(concurrency)?.logsByLaunch.get(launch) ?? []);
      if (logs !== undefined) speeds.set(concurrency, Math.exp(logs));
    }
    const score = logScore(kind, profile, speeds);
    if (score === undefined) return [];
    return { launch, round: first.roundByLaunch.get(launch) ?? 0, logScore: score };
  });
}
