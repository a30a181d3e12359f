import * as Plot from '@observablehq/plot';
import { mean } from '../metrics/statistics.ts';
import type { StoredLaunch, StoredMeasurement, StoredTrial } from '../storage/study-store.ts';
import { signedPercent } from './figures.ts';
import { gpuPictures } from './html-gpu.ts';
import { html, type Markup } from './html-markup.ts';
import { picture } from './html-plot.ts';
import type { ReportData } from './html-report-data.ts';

const LANES = ['baseline', 'trials', 'trouble'] as const;

interface Bar {
  readonly lane: (typeof LANES)[number];
  readonly from: Date;
  readonly to: Date;
  readonly color: string;
  readonly title: string;
}

/** The night: every launch with how it ended, and how the baseline changed meanwhile. */
export function timelineSection(data: ReportData): Markup {
  const started = data.launches.filter(({ kind }) => kind === 'started');
  const [first] = started;
  if (first === undefined) return html``;
  const trials = new Map(data.trials.map((trial) => [trial.id, trial]));
  const bars = started.map((launch, i) => bar(launch, started[i + 1], trials, data.measurements));
  const trouble = started.filter(({ state }) => isTrouble(state)).length;
  const from = Math.min(...bars.map((one) => one.from.getTime()));
  const to = Math.max(...bars.map((one) => one.to.getTime()));
  return html`<h2 id="night">The night</h2>
<p>${started.length} launches, ${trouble} of them did not end well, from ${localTime(from)} to ${localTime(to)}
(${zone()}).</p>
${picture('launches over time', ({ isNarrow }) => ({
  height: 150,
  marginLeft: 70,
  marginRight: 28,
  marginBottom: 36,
  x: { type: 'time', label: null, ticks: isNarrow ? 3 : 7 },
  y: { type: 'band', domain: [...LANES], label: null },
  marks: [
    Plot.barX(bars, {
      x1: 'from',
      x2: 'to',
      y: 'lane',
      fill: 'color',
      title: 'title',
      insetLeft: 0.5,
    }),
  ],
}))}${driftPicture(data, trials)}${gpuPictures(data.gpuReadings)}`;
}

function isTrouble(state: StoredLaunch['state']): boolean {
  return state !== 'completed' && state !== 'running';
}

function bar(
  launch: StoredLaunch,
  next: StoredLaunch | undefined,
  trials: ReadonlyMap<number, StoredTrial>,
  measurements: readonly StoredMeasurement[],
): Bar {
  const trial = trials.get(launch.trialId);
  const lane = isTrouble(launch.state)
    ? 'trouble'
    : trial?.isBaseline === true
      ? 'baseline'
      : 'trials';
  const color = { baseline: 'var(--series-0)', trials: 'var(--series-1)', trouble: 'var(--bad)' };
  const what = launch.cause === null ? launch.state : `${launch.state}, ${launch.cause}`;
  return {
    lane,
    from: new Date(launch.startedAtMs),
    to: new Date(endOf(launch, next, measurements)),
    color: color[lane],
    title: `launch ${launch.id}, trial ${trial?.number ?? '?'}: ${what}`,
  };
}

/** An older database has no end of a launch: its last measurement's, else its readiness or the next start. */
function endOf(
  launch: StoredLaunch,
  next: StoredLaunch | undefined,
  measurements: readonly StoredMeasurement[],
): number {
  if (launch.endedAtMs !== null) return launch.endedAtMs;
  const ends = measurements.filter(({ launchId }) => launchId === launch.id).map(endOfMeasurement);
  if (ends.length > 0) return Math.max(...ends);
  return next?.startedAtMs ?? launch.startedAtMs + (launch.readySeconds ?? 1) * 1000;
}

/** Its start is stored as its end less its duration, in the server's own time if simulated. */
function endOfMeasurement({ startedAtMs, metrics }: StoredMeasurement): number {
  return startedAtMs + metrics.durationSeconds * 1000;
}

/** Each baseline measurement against the mean of its concurrency; only with several launches. */
function driftPicture(data: ReportData, trials: ReadonlyMap<number, StoredTrial>): Markup {
  const own = data.measurements.filter(({ trialId }) => trials.get(trialId)?.isBaseline === true);
  if (new Set(own.map(({ launchId }) => launchId)).size < 2) return html``;
  const concurrencies = [...new Set(own.map(({ concurrency }) => concurrency))].sort(
    (a, b) => a - b,
  );
  const lines = concurrencies.map((concurrency, i) => {
    const here = own.filter((m) => m.concurrency === concurrency);
    const centre = mean(here.map(({ metrics }) => metrics.outputTokensPerSecond)) ?? Number.NaN;
    const points = here.map((measurement) => {
      const value = measurement.metrics.outputTokensPerSecond / centre - 1;
      return {
        at: new Date(endOfMeasurement(measurement)),
        value,
        title: `C=${concurrency}: ${signedPercent(value)}`,
      };
    });
    return { concurrency, points, color: `var(--series-${String((i % 6) + 1)})` };
  });
  const legend = html`<ul class="legend">${lines.map(({ concurrency, color }) => html`<li><i style="background:${color}"></i>${concurrency} in flight</li>`)}</ul>`;
  return html`<h3>The baseline along the way</h3>
<p class="soft">Each of its measurements against their mean at that concurrency: what changes here is not the flags’ doing.</p>
${picture(
  'baseline throughput over time',
  ({ isNarrow }) => ({
    height: 220,
    marginLeft: 64,
    marginRight: 28,
    marginBottom: 36,
    x: { type: 'time', label: null, ticks: isNarrow ? 3 : 7 },
    y: {
      label: null,
      grid: true,
      nice: true,
      ticks: 5,
      tickFormat: (v: number) => signedPercent(v),
    },
    marks: [
      Plot.ruleY([0], { stroke: 'var(--soft)' }),
      ...lines.flatMap(({ points, color }) => [
        Plot.line(points, { x: 'at', y: 'value', stroke: color }),
        Plot.dot(points, { x: 'at', y: 'value', fill: color, r: 3, title: 'title' }),
      ]),
    ],
  }),
  legend,
)}`;
}

function localTime(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

function zone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
