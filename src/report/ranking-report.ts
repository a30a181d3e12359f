import { speedCrossings, type WeightCrossover, weightCrossovers } from '../ranking/crossovers.ts';
import { decide } from '../ranking/decide.ts';
import { UNKNOWN_LAUNCH_NOISE_FRACTION } from '../ranking/noise.ts';
import { profileText } from '../ranking/profile.ts';
import type { RankedTrial, Ranking, RankingNote } from '../ranking/ranking.ts';
import { scoreKinds } from '../ranking/score.ts';
import { decisionText } from './decision-text.ts';
import { decodingLines } from './decoding.ts';
import { effectLines } from './effects-text.ts';
import { list, percent, signedPercent } from './figures.ts';
import { ineligibilitiesText } from './ineligibility-text.ts';
import { paretoLines } from './pareto-text.ts';
import { rankingTable } from './ranking-table.ts';
import type { TrialPoint } from './study-points.ts';

export interface RankingReport {
  readonly study: string;
  readonly ranking: Ranking;
  /** For the decoding concurrency and the marks. */
  readonly points: readonly TrialPoint[];
}

/** Trials whose ineligibility is told one by one; the rest is a number. */
const INELIGIBLE_SHOWN = 20;

/**
 * The ranking for a terminal: table, ties, what is out and why, where kinds of score disagree,
 * where the winner changes, what the server really ran at a time, and the decision last.
 */
export function rankingReport(
  { study, ranking, points }: RankingReport,
  options: { readonly color: boolean; readonly rows?: number },
): string {
  const sections = [
    [`study ${study}: ${ranking.scoreKind} score, profile ${profileText(ranking.profile)}`],
    [rankingTable(ranking, options)],
    tieLines(ranking.trials),
    ineligibleLines(ranking.trials),
    disagreementLines(ranking),
    crossoverLines(ranking),
    paretoLines(ranking),
    shownTrials(ranking).flatMap(({ trial }) => decodingLines(trial, points)),
    effectLines(ranking),
    ranking.notes.map(noteText),
    [decisionText(ranking, decide(ranking))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** What must be known beside the table: ties, disagreeing kinds of score, crossovers, notes. */
export function rankingRemarks(ranking: Ranking): readonly string[] {
  return [
    ...tieLines(ranking.trials),
    ...disagreementLines(ranking),
    ...crossoverLines(ranking),
    ...ranking.notes.map(noteText),
  ];
}

function tieLines(trials: readonly RankedTrial[]): readonly string[] {
  const [leader] = trials.filter(({ eligible }) => eligible);
  if (leader === undefined || leader.tiedWith.length === 0) return [];
  const others = list(leader.tiedWith.map((trial) => `trial ${trial}`));
  return [
    `trial ${leader.trial} ties with ${others}: not distinguishable; the one nearest to the baseline leads`,
  ];
}

function ineligibleLines(trials: readonly RankedTrial[]): readonly string[] {
  const out = trials.filter(({ eligible }) => !eligible);
  const lines = out
    .slice(0, INELIGIBLE_SHOWN)
    .map((trial) => `trial ${trial.trial} is out: ${ineligibilitiesText(trial.reasons) ?? ''}`);
  const more = out.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more are out (see export)`] : lines;
}

/** Every kind's winner with the scores of all the winners, so that the reader can weigh them. */
function disagreementLines({ kindsDisagree, winnerByKind, trials }: Ranking): readonly string[] {
  if (!kindsDisagree) return [];
  const numbers = new Set(Object.values(winnerByKind));
  const winners = trials.filter(({ trial }) => numbers.has(trial));
  const lines = scoreKinds.flatMap((kind) => {
    const winner = winnerByKind[kind];
    if (winner === null) return [];
    const scores = winners.map(({ trial, scoreByKind }) => {
      const score = scoreByKind[kind] ?? Number.NaN;
      const text = kind === 'relative' ? signedPercent(score - 1, 2) : `${score.toFixed(1)} tok/s`;
      return `trial ${trial} ${text}`;
    });
    return `  ${kind} prefers trial ${winner} (${scores.join(', ')})`;
  });
  return ['the kinds of score disagree on the winner:', ...lines];
}

function crossoverLines(ranking: Ranking): readonly string[] {
  const ties = new Map(ranking.trials.map(({ trial, tiedWith }) => [trial, tiedWith]));
  // Where two that tie change places, nothing changes that could be told.
  const separates = ({ below, above }: WeightCrossover) =>
    ties.get(below)?.includes(above) !== true;
  const [leader, second] = shownTrials(ranking);
  const crossings = leader && second ? speedCrossings(leader, second) : [];
  return [
    ...weightCrossovers(ranking).filter(separates).map(crossoverText),
    ...crossings.map(({ below, above, between: [from, to], concurrency }) => {
      const near = Math.round(concurrency);
      return `trial ${below} is faster up to C=${from}, trial ${above} from C=${to} on (crossing near ${near})`;
    }),
  ];
}

function crossoverText(crossover: WeightCrossover): string {
  const { scoreKind, concurrency, weight, currentWeight, below, above } = crossover;
  return (
    `${scoreKind}: with weight moved to C=${concurrency} (now ${Number(currentWeight.toFixed(3))}), ` +
    `the winner changes from trial ${below} to trial ${above} at ${weight.toFixed(3)}`
  );
}

/** The leader and what it is compared with: the baseline, or else the second. */
function shownTrials({ trials }: Ranking): readonly RankedTrial[] {
  const eligible = trials.filter((trial) => trial.eligible);
  const [leader, second] = eligible;
  if (leader === undefined) return [];
  const baseline = eligible.find(({ isBaseline }) => isBaseline);
  const other = baseline === undefined || baseline === leader ? second : baseline;
  return other === undefined ? [leader] : [leader, other];
}

function noteText(note: RankingNote): string {
  switch (note.code) {
    case 'whole-run':
      return `C=${list(note.concurrencies)}: whole-run throughput is compared, ramp and drain included (not every trial has a steady window)`;
    case 'estimated-tokens':
      return 'tokens were estimated for every trial, not counted by the server';
    case 'no-baseline':
      return 'the study has no baseline: nothing is compared with production';
    case 'evidence':
      return evidenceText(note);
    case 'confirmed': {
      const { rounds, finalists, noiseFraction, voidRounds } = note;
      const jumped =
        voidRounds === 0 ? '' : `; ${voidRounds} more do not count, the baseline jumped in them`;
      return `${finalists} finalists and the baseline are judged by ${rounds} confirming launches each, which did not choose them; one launch differs from the next by ${percent(noiseFraction)}${jumped}`;
    }
    case 'drift':
      return `the baseline changed by ${percent(note.rangeFraction)} while the study ran; trials are compared with the baseline's launches next to them`;
  }
}

function evidenceText({
  evidence,
  unknownTieFraction,
}: RankingNote & { readonly code: 'evidence' }): string {
  const tie = `launches are taken to differ by ${percent(UNKNOWN_LAUNCH_NOISE_FRACTION)}, so that the best of these has to be ahead by ${percent(unknownTieFraction)}`;
  switch (evidence) {
    case 'between-launches':
      return 'intervals and ties rest on the differences between launches';
    case 'within-launch':
      return `intervals rest on repeats within single launches and leave out how launches differ; ${tie}`;
    case 'unreplicated':
      return `unreplicated: single measurements have no interval; ${tie}`;
  }
}
