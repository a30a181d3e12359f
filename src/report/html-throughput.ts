import * as Plot from '@observablehq/plot';
import { speedCrossings } from '../ranking/crossovers.ts';
import { signedPercent, speed } from './figures.ts';
import { html, type Markup } from './html-markup.ts';
import { type Canvas, concurrencyAxis, picture } from './html-plot.ts';
import type { ReportData } from './html-report-data.ts';
import { concurrenciesOf, type Series, seriesLegend } from './html-series.ts';

/** One figure of a picture, with its interval where it is repeated. */
interface Point {
  readonly concurrency: number;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly title: string;
}

interface Line {
  readonly series: Series;
  readonly points: readonly Point[];
}

/** Pixels between the interval bars of neighbouring series, so that they do not cover each other. */
const DODGE_PIXELS = 4;

/** Tokens per second by concurrency, and the change against the baseline, with intervals. */
export function throughputSection(data: ReportData, series: readonly Series[]): Markup {
  if (series.length === 0) return html``;
  const concurrencies = concurrenciesOf(series);
  const speeds = series.map((one) => speedLine(one, data));
  const baseline = series.find(({ trial }) => trial.isBaseline);
  const changes = baseline === undefined ? [] : series.map((one) => changeLine(one, data));
  const repeated = speeds.some(({ points }) => points.some(({ low }) => low !== null));
  const bars = repeated
    ? 'Bars are intervals of each throughput by itself, noise pooled over all trials.'
    : 'No bars: nothing is measured in more than one launch yet.';
  return html`<h2 id="throughput">Throughput by requests in flight</h2>${seriesLegend(series)}
${changes.length === 0 ? null : changePicture(changes, concurrencies)}
${picture('output tokens per second by requests in flight', (canvas) => ({
  ...frame(canvas, concurrencies),
  y: {
    type: 'log',
    label: 'output tokens per second',
    grid: true,
    ticks: [...speedTicks(speeds)],
    tickFormat: (v: number) => String(v),
  },
  marks: lineMarks(speeds),
}))}
<p class="soft">${bars} Both axes of the lower picture are logarithmic.</p>${crossingList(series)}`;
}

/** 1, 2, 5, 10, 20, 50 ... from below the smallest to above the largest figure. */
function speedTicks(lines: readonly Line[]): readonly number[] {
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ticks: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(least)); decade <= most; decade *= 10) {
    ticks.push(decade, 2 * decade, 5 * decade);
  }
  const from = ticks.findLastIndex((tick) => tick <= least);
  const to = ticks.findIndex((tick) => tick >= most);
  return ticks.slice(Math.max(0, from), to < 0 ? undefined : to + 1);
}

function changePicture(changes: readonly Line[], concurrencies: readonly number[]): Markup {
  return picture('change against the baseline by requests in flight', (canvas) => ({
    ...frame(canvas, concurrencies),
    y: {
      label: 'change against the baseline',
      grid: true,
      ticks: 6,
      nice: true,
      tickFormat: (value: number) => signedPercent(value, 0),
    },
    marks: [Plot.ruleY([0], { stroke: 'var(--soft)' }), ...lineMarks(changes)],
  }));
}

function frame(canvas: Canvas, concurrencies: readonly number[]): Plot.PlotOptions {
  return {
    height: canvas.isNarrow ? 280 : 340,
    marginLeft: 64,
    marginRight: 20,
    marginTop: 32,
    marginBottom: 44,
    x: concurrencyAxis(concurrencies, canvas),
  };
}

function lineMarks(lines: readonly Line[]): Plot.Markish[] {
  return lines.flatMap(({ series, points }, i) => {
    const dx = (i - (lines.length - 1) / 2) * DODGE_PIXELS;
    const stroke = series.color;
    const bars = points.filter(({ low }) => low !== null);
    const place = { x: 'concurrency', y: 'value', dx } as const;
    return [
      Plot.line(points, { ...place, stroke, strokeWidth: series.trial.isBaseline ? 1.5 : 2 }),
      Plot.ruleX(bars, { x: 'concurrency', y1: 'low', y2: 'high', dx, stroke, strokeWidth: 2 }),
      Plot.dot(points, { ...place, fill: stroke, r: 3.5, title: 'title' }),
    ];
  });
}

function speedLine(series: Series, { intervals }: ReportData): Line {
  const { trial } = series;
  const points = [...trial.perConcurrency].map(([concurrency, cell]) => {
    const value = cell.outputTokensPerSecond;
    const factor = intervals.get(trial.trial)?.get(concurrency);
    const title = `trial ${trial.trial}, C=${concurrency}: ${speed(value)} tok/s (n=${cell.n})`;
    if (factor === undefined) return { concurrency, value, low: null, high: null, title };
    return { concurrency, value, low: value / factor, high: value * factor, title };
  });
  return { series, points: ascending(points) };
}

function changeLine(series: Series, { intervals }: ReportData): Line {
  const { trial } = series;
  const points = [...trial.perConcurrency].flatMap(([concurrency, { changeFraction }]) => {
    const value = trial.isBaseline ? 0 : changeFraction;
    if (value === null) return [];
    const factor = intervals.get(trial.trial)?.get(concurrency);
    const title = `trial ${trial.trial}, C=${concurrency}: ${signedPercent(value)}`;
    if (factor === undefined) return { concurrency, value, low: null, high: null, title };
    const [low, high] = [(1 + value) / factor - 1, (1 + value) * factor - 1];
    return { concurrency, value, low, high, title };
  });
  return { series, points: ascending(points) };
}

function ascending(points: readonly Point[]): readonly Point[] {
  return [...points].sort((a, b) => a.concurrency - b.concurrency);
}

/** Where each shown trial and the baseline change places. */
function crossingList(series: readonly Series[]): Markup {
  const baseline = series.find(({ trial }) => trial.isBaseline);
  if (baseline === undefined) return html``;
  const items = series
    .filter((one) => one !== baseline)
    .flatMap(({ trial }) => speedCrossings(trial, baseline.trial))
    .map(
      ({ below, above, between: [from, to], concurrency }) =>
        html`<li>trial ${below} is faster up to ${from} in flight, trial ${above} from ${to} on (near ${Math.round(concurrency)})</li>`,
    );
  return items.length === 0
    ? html`<p>None of these lines crosses the baseline’s.</p>`
    : html`<h3>Where lines cross the baseline’s</h3><ul>${items}</ul>`;
}
