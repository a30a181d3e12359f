import * as Plot from '@observablehq/plot';
import { mean } from '../metrics/statistics.ts';
import { paretoFront } from '../ranking/pareto.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { list } from './figures.ts';
import { html, type Markup } from './html-markup.ts';
import { picture } from './html-plot.ts';
import { type ReportData, trialNumbers } from './html-report-data.ts';
import { scoreText } from './ranking-table.ts';

interface Point {
  readonly trial: number;
  readonly isBaseline: boolean;
  readonly latencyMs: number;
  readonly score: number;
}

/**
 * Score against time to first token, for those who would trade one for the other: a trial is on
 * the front when no other is better in both. Point figures; ties are not considered.
 */
export function paretoSection(data: ReportData): Markup {
  const { outcome } = data;
  if (outcome.state === 'unranked') return html``;
  const { ranking } = outcome;
  const weighted = [...ranking.profile].filter(([, weight]) => weight > 0).map(([c]) => c);
  const concurrency = Math.max(...weighted);
  const points = pointsOf(data, ranking, concurrency);
  if (points.length < 3) return html``;
  const front = paretoFront(points);
  const shift = ranking.scoreKind === 'relative' ? 1 : 0;
  const drawn = points.map((point) => ({
    ...point,
    shown: point.score - shift,
    color: point.isBaseline
      ? 'var(--series-0)'
      : front.includes(point)
        ? 'var(--good)'
        : 'var(--series-1)',
    title: `trial ${point.trial}: ${scoreText(ranking, point.score)}, TTFT p99 ${Math.round(point.latencyMs)} ms`,
  }));
  const onFront = drawn.filter(({ trial }) => front.some((point) => point.trial === trial));
  return html`<h2 id="pareto">Speed against waiting</h2>
<p class="soft">Score and 99th percentile of the time to first token at ${concurrency} in flight. Green: no other trial is
better in both (${list(front.map(({ trial }) => `trial ${trial}`))}). Point figures, noise not considered; grey is the baseline.</p>
${picture('score against time to first token', ({ isNarrow }) => ({
  height: 300,
  marginLeft: 64,
  marginRight: 24,
  marginTop: 30,
  marginBottom: 44,
  x: {
    label: 'TTFT p99 in ms',
    labelAnchor: 'center',
    labelArrow: 'none',
    nice: true,
    ticks: isNarrow ? 4 : 8,
    tickFormat: (v: number) => String(v),
    inset: 10,
  },
  y: {
    label: 'score',
    grid: true,
    nice: true,
    ticks: 6,
    tickFormat: (v: number) => scoreText(ranking, v + shift),
  },
  marks: [
    Plot.line(
      [...onFront].sort((a, b) => a.latencyMs - b.latencyMs),
      { x: 'latencyMs', y: 'shown', stroke: 'var(--good)', strokeOpacity: 0.5 },
    ),
    Plot.dot(drawn, { x: 'latencyMs', y: 'shown', fill: 'color', r: 4, title: 'title' }),
  ],
}))}`;
}

function pointsOf(data: ReportData, { trials }: Ranking, concurrency: number): readonly Point[] {
  const numbers = trialNumbers(data.trials);
  const byTrial = new Map<number, number[]>();
  for (const { trialId, metrics } of data.measurements) {
    const trial = numbers.get(trialId);
    if (metrics.concurrency !== concurrency || metrics.ttftMs === null || trial === undefined)
      continue;
    byTrial.set(trial, [...(byTrial.get(trial) ?? []), metrics.ttftMs.p99]);
  }
  return trials.flatMap(({ trial, isBaseline, eligible, score }: RankedTrial) => {
    const latencyMs = mean(byTrial.get(trial) ?? []);
    return !eligible || score === null || latencyMs === undefined
      ? []
      : { trial, isBaseline, latencyMs, score };
  });
}
