import * as Plot from '@observablehq/plot';
import { profileText } from '../ranking/profile.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { percent, signedPercent, speed } from './figures.ts';
import { changesList } from './html-changes.ts';
import { html, type Markup } from './html-markup.ts';
import { picture } from './html-plot.ts';
import type { ReportData } from './html-report-data.ts';
import { rankingRemarks } from './ranking-report.ts';
import { intervalText, scoreText } from './ranking-table.ts';

/** Rows in the picture and in the first table; the rest folds away. */
const SHOWN = 20;

/** The ranking: scores with intervals as picture and table, ties, and what the reader must know. */
export function rankingSection(data: ReportData): Markup {
  if (data.outcome.state === 'unranked') return html``;
  const { ranking } = data.outcome;
  const eligible = ranking.trials.filter((trial) => trial.eligible);
  if (eligible.length === 0) return html``;
  const baseline = ranking.trials.find(({ isBaseline }) => isBaseline);
  const first = eligible.filter((trial, i) => i < SHOWN || trial.isBaseline);
  const rest = eligible.filter((trial) => !first.includes(trial));
  const remarks = rankingRemarks(ranking).map((line) => html`<li>${line.trim()}</li>`);
  return html`<h2 id="ranking">Ranking</h2>
<p class="soft">${ranking.scoreKind} score over the profile ${profileText(ranking.profile)} (requests in flight : share of
serving time). Intervals at ${percent(ranking.confidence)}, with the baseline’s own noise in them.</p>
${scorePicture(ranking, first)}
${rankingTable(ranking, first, baseline)}
${rest.length === 0 ? null : html`<details><summary>${rest.length} more trials</summary>${rankingTable(ranking, rest, baseline)}</details>`}
<ul>${remarks}</ul>`;
}

function scorePicture(ranking: Ranking, trials: readonly RankedTrial[]): Markup {
  const isRelative = ranking.scoreKind === 'relative';
  const shift = isRelative ? 1 : 0;
  const rows = trials.flatMap((trial) => {
    if (trial.score === null) return [];
    const name = trial.isBaseline ? `${trial.trial} (base)` : String(trial.trial);
    const [low, high] = trial.scoreInterval ?? [null, null];
    return {
      name,
      score: trial.score - shift,
      low: low === null ? null : low - shift,
      high: high === null ? null : high - shift,
      color: colorOf(trial, trials[0]),
      title: `trial ${name}: ${scoreText(ranking, trial.score)} (${intervalText(ranking, trial)})`,
    };
  });
  return picture('score of each trial with its interval', ({ isNarrow }) => ({
    height: 60 + rows.length * 22,
    marginLeft: 84,
    marginRight: 28,
    marginTop: 30,
    x: {
      axis: 'top',
      grid: true,
      ticks: isNarrow ? 4 : 8,
      nice: true,
      label: null,
      tickFormat: (value: number) => (isRelative ? signedPercent(value, 0) : speed(value)),
    },
    y: { type: 'band', domain: rows.map(({ name }) => name), label: 'trial', labelArrow: 'none' },
    marks: [
      isRelative ? Plot.ruleX([0], { stroke: 'var(--soft)' }) : null,
      Plot.ruleY(
        rows.filter(({ low }) => low !== null),
        { y: 'name', x1: 'low', x2: 'high', stroke: 'color', strokeWidth: 3, strokeOpacity: 0.55 },
      ),
      Plot.dot(rows, { y: 'name', x: 'score', fill: 'color', r: 4, title: 'title' }),
    ],
  }));
}

/** The leader, what ties with it, the baseline, and the others. */
function colorOf(trial: RankedTrial, leader: RankedTrial | undefined): string {
  if (trial.isBaseline) return 'var(--series-0)';
  if (trial === leader || leader?.tiedWith.includes(trial.trial) === true) return 'var(--good)';
  return 'var(--series-1)';
}

function rankingTable(
  ranking: Ranking,
  trials: readonly RankedTrial[],
  baseline: RankedTrial | undefined,
): Markup {
  const concurrencies = [
    ...new Set(ranking.trials.flatMap(({ perConcurrency }) => [...perConcurrency.keys()])),
  ].sort((a, b) => a - b);
  const heads = concurrencies.map((c) => html`<th>C=${c}</th>`);
  const unit = ranking.scoreKind === 'relative' ? 'over baseline' : 'tok/s';
  const rows = trials.map((trial) => {
    const kind = trial.isBaseline ? 'baseline' : trial.rank === 1 ? 'lead' : '';
    const name = trial.isBaseline ? `${trial.trial} (baseline)` : trial.trial;
    const what = trial.isBaseline
      ? 'production'
      : changesList(trial.assignment, baseline?.assignment);
    return html`<tr class="${kind}" data-trial="${trial.trial}"><td>${trial.rank ?? '-'}</td><td>${name}</td>
<td data-score="${trial.score ?? ''}">${scoreText(ranking, trial.score)}</td><td>${intervalText(ranking, trial)}</td>
${concurrencies.map((c) => cell(trial, c))}<td class="text wide">${what}</td></tr>`;
  });
  return html`<div class="scroll"><table><thead><tr><th>rank</th><th>trial</th><th>${unit}</th><th>interval</th>${heads}
<th class="text">changes</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function cell(trial: RankedTrial, concurrency: number): Markup {
  const found = trial.perConcurrency.get(concurrency);
  if (found === undefined) return html`<td>-</td>`;
  const { outputTokensPerSecond: value, changeFraction: change } = found;
  const changed =
    change === null || trial.isBaseline
      ? null
      : html`<br><span class="${change < 0 ? 'bad' : 'good'}">${signedPercent(change)}</span>`;
  return html`<td data-concurrency="${concurrency}" data-value="${value}">${speed(value)}${changed}</td>`;
}
