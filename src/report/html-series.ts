import type { RankedTrial } from '../ranking/ranking.ts';
import { assignmentList, changesList } from './html-changes.ts';
import { html, type Markup } from './html-markup.ts';
import { type ReportData, rankedTrials } from './html-report-data.ts';
import { SERIES_COLORS } from './html-style.ts';

/** A trial as it is drawn in every picture of the report. */
export interface Series {
  readonly trial: RankedTrial;
  readonly color: string;
  readonly name: string;
}

/**
 * The trials that pictures show: the baseline first, then the best by rank, as many as there are
 * colours. A trial has the same colour in all pictures.
 */
export function shownSeries(data: ReportData): readonly Series[] {
  const ranked = rankedTrials(data);
  const baseline = ranked.filter(({ isBaseline }) => isBaseline);
  const others = ranked.filter(({ isBaseline, eligible }) => eligible && !isBaseline);
  return [...baseline, ...others.slice(0, SERIES_COLORS - 1)].map((trial, i) => ({
    trial,
    // Grey is the baseline's; without one the first colour stays unused.
    color: `var(--series-${String(baseline.length === 0 ? i + 1 : i)})`,
    name: seriesName(trial, baseline[0]),
  }));
}

/** Colour, number and changes of each series, as a list that wraps and is never cut. */
export function seriesLegend(series: readonly Series[]): Markup {
  const items = series.map(
    ({ color, name }) => html`<li><i style="background:${color}"></i>${name}</li>`,
  );
  return html`<ul class="legend">${items}</ul>`;
}

function seriesName(trial: RankedTrial, baseline: RankedTrial | undefined): string {
  return trial.isBaseline
    ? `trial ${trial.trial} (baseline): ${assignmentList(trial.assignment)}`
    : `trial ${trial.trial}: ${changesList(trial.assignment, baseline?.assignment)}`;
}

/** Every concurrency that one of the series was measured at, ascending. */
export function concurrenciesOf(series: readonly Series[]): readonly number[] {
  const all = series.flatMap(({ trial }) => [...trial.perConcurrency.keys()]);
  return [...new Set(all)].sort((a, b) => a - b);
}
