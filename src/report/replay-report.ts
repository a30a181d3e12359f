import type { ReplayStep } from '../study/replay.ts';
import { signedPercent } from './figures.ts';

/** A replay for a terminal: each launch that found something better, and how it ended. */
export function replayReport(sampler: string, steps: readonly ReplayStep[]): string {
  const last = steps.at(-1);
  if (last === undefined) return `${sampler}: nothing to replay`;
  const better = steps.flatMap(({ trial, bestSoFar }, i) => {
    const before = i === 0 ? 1 : (steps[i - 1]?.bestSoFar ?? 1);
    if (bestSoFar <= before) return [];
    const launch = String(i + 1).padStart(5);
    return `  launch ${launch}: trial ${String(trial)} at ${signedPercent(bestSoFar - 1)}`;
  });
  const found = better.length === 0 ? ['  nothing above the baseline'] : better;
  return [`${sampler}: ${String(steps.length)} launches`, ...found].join('\n');
}
