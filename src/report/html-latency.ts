import * as Plot from '@observablehq/plot';
import type { PointMetrics } from '../metrics/point-metrics.ts';
import { mean } from '../metrics/statistics.ts';
import { html, type Markup } from './html-markup.ts';
import { concurrencyAxis, picture } from './html-plot.ts';
import { type ReportData, trialNumbers } from './html-report-data.ts';
import { concurrenciesOf, type Series, seriesLegend } from './html-series.ts';

/** Figures of one trial at one concurrency, the mean over its measurements. */
interface LatencyRow {
  readonly series: Series;
  readonly concurrency: number;
  readonly ttftMedianMs: number | undefined;
  readonly ttftP99Ms: number | undefined;
  readonly tpotMedianMs: number | undefined;
  readonly tpotP99Ms: number | undefined;
  readonly acceptLength: number | undefined;
}

/** Series in the table of percentiles; the pictures show all. */
const TABLE_SERIES = 3;

/** Time to first token, time per output token and accept length by concurrency. */
export function latencySection(data: ReportData, series: readonly Series[]): Markup {
  const rows = latencyRows(data, series);
  if (!rows.some(({ ttftMedianMs, tpotMedianMs }) => ttftMedianMs ?? tpotMedianMs)) return html``;
  const concurrencies = concurrenciesOf(series);
  const draw = (heading: string, label: string, figure: (row: LatencyRow) => number | undefined) =>
    rows.some((row) => figure(row) !== undefined)
      ? html`<h3>${heading}</h3>${figurePicture(label, rows, series, concurrencies, figure)}`
      : null;
  const accepted = rows.some(({ acceptLength }) => acceptLength !== undefined);
  return html`<h2 id="latency">Latency</h2>${seriesLegend(series)}
${draw('Time to first token, 99th percentile', 'TTFT p99 in ms', (row) => row.ttftP99Ms)}
${draw('Time per output token, median', 'TPOT median in ms', (row) => row.tpotMedianMs)}
${latencyTable(rows, series.slice(0, TABLE_SERIES))}
${
  accepted
    ? html`<h2 id="accept">Accept length</h2>
${draw('Output tokens per verify step', 'accept length in tokens', (row) => row.acceptLength)}
<p class="soft">The bonus token included; 1 is no gain from speculation.</p>`
    : null
}`;
}

function latencyRows(data: ReportData, series: readonly Series[]): readonly LatencyRow[] {
  const numbers = trialNumbers(data.trials);
  return series.flatMap((one) => {
    const own = data.measurements.filter(({ trialId }) => numbers.get(trialId) === one.trial.trial);
    const concurrencies = [...new Set(own.map(({ concurrency }) => concurrency))];
    return concurrencies
      .sort((a, b) => a - b)
      .map((concurrency) => {
        const here = own.filter((m) => m.concurrency === concurrency).map((m) => m.metrics);
        const of = (figure: (metrics: PointMetrics) => number | null | undefined) =>
          mean(here.flatMap((metrics) => figure(metrics) ?? []));
        return {
          series: one,
          concurrency,
          ttftMedianMs: of((m) => m.ttftMs?.median),
          ttftP99Ms: of((m) => m.ttftMs?.p99),
          tpotMedianMs: of((m) => m.tpotMs?.median),
          tpotP99Ms: of((m) => m.tpotMs?.p99),
          acceptLength: of((m) => m.acceptLength),
        };
      });
  });
}

function figurePicture(
  label: string,
  rows: readonly LatencyRow[],
  series: readonly Series[],
  concurrencies: readonly number[],
  figure: (row: LatencyRow) => number | undefined,
): Markup {
  const marks = series.flatMap((one) => {
    const points = rows.flatMap((row) => {
      const value = figure(row);
      if (row.series !== one || value === undefined) return [];
      const title = `trial ${one.trial.trial}, C=${row.concurrency}: ${round(value)}`;
      return { concurrency: row.concurrency, value, title };
    });
    const place = { x: 'concurrency', y: 'value' } as const;
    return [
      Plot.line(points, { ...place, stroke: one.color, strokeWidth: 2 }),
      Plot.dot(points, { ...place, fill: one.color, r: 3, title: 'title' }),
    ];
  });
  return picture(label, (canvas) => ({
    height: 240,
    marginLeft: 64,
    marginRight: 20,
    marginTop: 30,
    marginBottom: 44,
    x: concurrencyAxis(concurrencies, canvas),
    y: {
      label,
      labelArrow: 'none',
      grid: true,
      zero: true,
      nice: true,
      ticks: 5,
      tickFormat: (v: number) => String(v),
    },
    marks,
  }));
}

function latencyTable(rows: readonly LatencyRow[], series: readonly Series[]): Markup {
  const shown = rows.filter((row) => series.includes(row.series));
  const lines = shown.map(
    (
      row,
    ) => html`<tr class="${row.series.trial.isBaseline ? 'baseline' : ''}"><td>${row.series.trial.trial}</td><td>${row.concurrency}</td>
<td>${round(row.ttftMedianMs)}</td><td>${round(row.ttftP99Ms)}</td><td>${round(row.tpotMedianMs)}</td><td>${round(row.tpotP99Ms)}</td><td>${round(row.acceptLength)}</td></tr>`,
  );
  return html`<div class="scroll"><table><thead><tr><th>trial</th><th>C</th><th>TTFT p50 ms</th><th>TTFT p99 ms</th><th>TPOT p50 ms</th><th>TPOT p99 ms</th><th>accept length</th></tr></thead><tbody>${lines}</tbody></table></div>
<p class="soft">Means over the measurements of a trial at that concurrency.</p>`;
}

function round(value: number | undefined): string {
  if (value === undefined) return '-';
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
