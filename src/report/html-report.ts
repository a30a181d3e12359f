import { decisionSection } from './html-decision.ts';
import { effectsSection } from './html-effects.ts';
import { latencySection } from './html-latency.ts';
import { html, jsonScript, type Markup, rawHtml } from './html-markup.ts';
import { marksSection, methodSection } from './html-method.ts';
import { outcomesSection } from './html-outcomes.ts';
import { paretoSection } from './html-pareto.ts';
import { rankingSection } from './html-ranking.ts';
import { type ReportData, type ReportInput, reportData } from './html-report-data.ts';
import { shownSeries } from './html-series.ts';
import { STYLE } from './html-style.ts';
import { throughputSection } from './html-throughput.ts';
import { timelineSection } from './html-timeline.ts';
import { rankingJson } from './ranking-json.ts';

/**
 * A study as one HTML page: what to deploy first, then how it was found. Complete in itself (no
 * script, font or picture from elsewhere), for light and dark, phone and paper. The ranking is in
 * it as JSON too (`#nightsweep-ranking`, the shape of `rank --json`).
 */
export function htmlReport(input: ReportInput): string {
  const data = reportData(input);
  const series = shownSeries(data);
  const sections = [
    throughputSection(data, series),
    rankingSection(data),
    effectsSection(data),
    latencySection(data, series),
    paretoSection(data),
    timelineSection(data),
    outcomesSection(data),
    marksSection(data),
    methodSection(data),
  ];
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${data.study.name}: nightsweep report</title>
<link rel="icon" href="data:,"><style>${rawHtml(STYLE)}</style></head>
<body><main><header><h1>${data.study.name}</h1><p class="soft">${summary(data)}</p></header>
${decisionSection(data)}${contents(sections)}${sections}
${data.outcome.state === 'ranked' ? jsonScript('nightsweep-ranking', rankingJson(data.study.name, data.outcome.ranking)) : null}
</main></body></html>
`;
  return page.text;
}

function summary({ trials, launches, measurements, study }: ReportData): string {
  const measured = new Set(measurements.map(({ trialId }) => trialId)).size;
  const day = new Date(study.createdAtMs).toISOString().slice(0, 10);
  return `${measured} of ${trials.length} configurations measured in ${launches.length} launches, ${measurements.length} measurements, study of ${day}`;
}

const TITLES: Readonly<Record<string, string>> = {
  throughput: 'Throughput',
  ranking: 'Ranking',
  effects: 'Effects',
  latency: 'Latency',
  accept: 'Accept length',
  pareto: 'Speed and waiting',
  night: 'The night',
  out: 'Not ranked',
  marks: 'Marks',
  method: 'Method',
};

/** Links to the sections that are there. */
function contents(sections: readonly Markup[]): Markup {
  const all = sections.map(({ text }) => text).join('');
  const links = Object.entries(TITLES)
    .filter(([id]) => all.includes(`<h2 id="${id}">`))
    .map(([id, title]) => html`<a href="#${id}">${title}</a> `);
  return html`<nav>${links}</nav>`;
}
