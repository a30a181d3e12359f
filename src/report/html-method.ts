import type { Mark } from '../metrics/point-metrics.ts';
import { profileText } from '../ranking/profile.ts';
import { percent } from './figures.ts';
import { html, type Markup } from './html-markup.ts';
import type { ReportData } from './html-report-data.ts';
import { markText } from './marks.ts';

/** Every remark that a measurement carries, explained once, with how many carry it. */
export function marksSection({ measurements }: ReportData): Markup {
  const found = new Map<string, { mark: Mark; count: number }>();
  for (const { metrics } of measurements) {
    for (const mark of metrics.marks) {
      found.set(mark.code, { mark, count: (found.get(mark.code)?.count ?? 0) + 1 });
    }
  }
  if (found.size === 0) return html``;
  const items = [...found.values()].map(({ mark, count }) => {
    const { text, advice } = markText(mark);
    return html`<dt><code>${mark.code}</code> (${count} of ${measurements.length})</dt>
<dd>${count > 1 ? 'e.g. ' : ''}${text}${advice === undefined ? '' : `. ${advice}`}</dd>`;
  });
  return html`<h2 id="marks">Marks</h2><p class="soft">Remarks on measurements. Figures in the text are those of one of them.</p><dl>${items}</dl>`;
}

/** What is needed to judge the figures and to repeat them. */
export function methodSection(data: ReportData): Markup {
  const { study, outcome, launches, measurements } = data;
  const workload = Object.entries(study.workload)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${textOf(value)}`)
    .join(', ');
  const confidence = outcome.state === 'ranked' ? percent(outcome.ranking.confidence) : '-';
  const rows: readonly (readonly [string, string])[] = [
    ['Workload', workload],
    ['Profile', profileText(study.profile)],
    ['Score', `${study.scoreKind}, intervals and ties at ${confidence}`],
    ['Limits', study.limits.length === 0 ? 'none' : study.limits.join(', ')],
    ['Measurements', `${measurements.length} in ${launches.length} launches`],
    ['SGLang', listed(launches.map(({ sglangVersion }) => sglangVersion))],
    ...versionsOf(launches),
    ['Seeds', `study ${study.seed}; launches ${listed(launches.map(({ seed }) => String(seed)))}`],
    ['Throughput', listed(measurements.map(({ metrics }) => metrics.throughputKind))],
    ['Tokens counted by', listed(measurements.map(({ metrics }) => metrics.tokensFrom))],
    ['Baseline', study.baselineArgv.join(' ')],
    ['Study created', new Date(study.createdAtMs).toISOString()],
    ['Report made', `${new Date(data.madeAtMs).toISOString()} by nightsweep ${data.version}`],
  ];
  const items = rows.map(([term, text]) => html`<dt>${term}</dt><dd>${text}</dd>`);
  return html`<h2 id="method">How it was measured</h2>
<p>Each launch is the server with one set of flags, started, asked for a real completion, warmed up, and loaded at each
number of requests in flight (${loopText(study.workload)}), with the prefix cache flushed before
each measurement. Throughput is output tokens per second in the steady window, while all requests are in flight; with
fewer than three waves of requests it is that of the whole run, and marked. TTFT is from sending to the first token,
TPOT the mean gap between the tokens after it. The relative score is
exp(Σ w<sub>c</sub> ln(T<sub>c</sub> / B<sub>c</sub>)), w the profile, T and B the throughput of trial and baseline.</p>
<dl>${items}</dl>`;
}

/** In which way requests were sent (field report C19). */
function loopText({ arrivals }: ReportData['study']['workload']): string {
  return typeof arrivals === 'string'
    ? arrivals
    : 'closed loop, no think time: an answer’s end sends the next request';
}

/** Driver, kernel packages and whatever else a launch recorded. */
function versionsOf(launches: ReportData['launches']): readonly (readonly [string, string])[] {
  const names = new Set(launches.flatMap(({ versions }) => Object.keys(versions)));
  return [...names].map((name) => [name, listed(launches.map(({ versions }) => versions[name]))]);
}

function listed(values: readonly (string | null | undefined)[]): string {
  const known = [...new Set(values.filter((value) => value !== null && value !== undefined))];
  return known.length === 0 ? 'unknown' : known.join(', ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
