import Table from 'cli-table3';
import { createColors } from 'picocolors';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { assignmentText, changesText } from './assignment-text.ts';
import { signedPercent, speed } from './figures.ts';

/** Borders off: two blanks between columns read well and survive a copy into a mail. */
const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/**
 * The ranking as a table: eligible trials by rank with score, interval and change against the
 * baseline at each concurrency. The baseline shows its tokens per second.
 */
export function rankingTable(
  ranking: Ranking,
  { color, rows = Number.POSITIVE_INFINITY }: { readonly color: boolean; readonly rows?: number },
): string {
  const pc = createColors(color);
  const concurrencies = [
    ...new Set(ranking.trials.flatMap(({ perConcurrency }) => [...perConcurrency.keys()])),
  ].sort((a, b) => a - b);
  const table = new Table({
    head: [
      'rank',
      'trial',
      scoreHeading(ranking),
      'interval',
      ...concurrencies.map(heading(ranking)),
    ],
    chars: PLAIN,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: ['right', 'right', 'right', 'left', ...concurrencies.map(() => 'right' as const)],
  });
  const eligible = ranking.trials.filter((trial) => trial.eligible);
  const shown = eligible.filter((trial, i) => i < rows || trial.isBaseline);
  for (const trial of shown) {
    const cells = concurrencies.map((concurrency) => cellText(trial, concurrency, pc));
    table.push([
      String(trial.rank ?? '-'),
      trial.isBaseline ? `${trial.trial} (baseline)` : String(trial.trial),
      scoreText(ranking, trial.score),
      intervalText(ranking, trial),
      ...cells,
    ]);
  }
  const baseline = ranking.trials.find(({ isBaseline }) => isBaseline)?.assignment;
  const names = shown.map(({ trial, assignment, isBaseline }) => {
    const text = isBaseline ? assignmentText(assignment) : changesText(assignment, baseline);
    return `trial ${trial}: ${text}`;
  });
  return [
    ...table
      .toString()
      .split('\n')
      .map((line) => line.trimEnd()),
    '',
    ...names,
  ].join('\n');
}

/** A score as the kind is read: a percentage over the baseline, or tokens per second. */
export function scoreText({ scoreKind }: Ranking, score: number | null): string {
  if (score === null) return '-';
  return scoreKind === 'relative' ? signedPercent(score - 1) : speed(score);
}

/** The interval of a trial's score, or `unreplicated`. */
export function intervalText(ranking: Ranking, trial: RankedTrial): string {
  if (trial.scoreInterval === null) return 'unreplicated';
  const [low, high] = trial.scoreInterval.map((value) => scoreText(ranking, value));
  return `${low ?? ''} to ${high ?? ''}`;
}

function scoreHeading({ scoreKind }: Ranking): string {
  return scoreKind === 'relative' ? 'over baseline' : `${scoreKind} tok/s`;
}

function heading({ profile }: Ranking) {
  return (concurrency: number): string => {
    const weight = profile.get(concurrency) ?? 0;
    return weight === 0 ? `C=${concurrency}` : `C=${concurrency} (${Number(weight.toFixed(3))})`;
  };
}

function cellText(
  { perConcurrency, isBaseline }: RankedTrial,
  concurrency: number,
  pc: ReturnType<typeof createColors>,
): string {
  const cell = perConcurrency.get(concurrency);
  if (cell === undefined) return '-';
  const { changeFraction, outputTokensPerSecond } = cell;
  if (isBaseline || changeFraction === null) return `${speed(outputTokensPerSecond)} tok/s`;
  const text = signedPercent(changeFraction);
  return changeFraction < 0 ? pc.red(text) : pc.green(text);
}
