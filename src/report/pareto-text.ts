import type { Ranking } from '../ranking/ranking.ts';
import { scoreText } from './ranking-table.ts';

/** Points told one by one; a longer front is cut. */
const POINTS_SHOWN = 8;

/** What a shorter wait would cost in score; silent where one trial is best in both. */
export function paretoLines(ranking: Ranking): readonly string[] {
  return ranking.paretoSets.flatMap(({ latency, concurrency, front }) => {
    if (front.length < 2) return [];
    const points = front
      .slice(0, POINTS_SHOWN)
      .map(
        ({ trial, score, latencyMs }) =>
          `trial ${trial} ${scoreText(ranking, score)} at ${latencyMs.toFixed(1)} ms`,
      );
    const more = front.length > POINTS_SHOWN ? `, and ${front.length - POINTS_SHOWN} more` : '';
    return [
      `score against ${latency} at C=${concurrency}, none better in both (noise not considered): ${points.join(', ')}${more}`,
    ];
  });
}
