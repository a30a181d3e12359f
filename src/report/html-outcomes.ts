import { COULD_NOT_WIN } from '../ranking/race.ts';
import type { StoredLaunch, StoredTrial } from '../storage/study-store.ts';
import { changesList } from './html-changes.ts';
import { html, type Markup } from './html-markup.ts';
import { type ReportData, rankedTrials } from './html-report-data.ts';
import { ineligibilitiesText } from './ineligibility-text.ts';

/** Lines of a log that explain a failure; more only make the page long. */
const TAIL_LINES = 15;

interface Group {
  readonly title: string;
  readonly what: string;
  readonly trials: readonly StoredTrial[];
}

/** Every trial that cannot win: why, and what the server printed last. */
export function outcomesSection(data: ReportData): Markup {
  const groups = groupsOf(data.trials).filter(({ trials }) => trials.length > 0);
  const out = rankedTrials(data).filter(
    ({ eligible, trial }) =>
      !eligible && !groups.some(({ trials }) => trials.some(({ number }) => number === trial)),
  );
  if (groups.length === 0 && out.length === 0) return html``;
  const baseline = data.trials.find(({ isBaseline }) => isBaseline);
  const items = out.map(
    (trial) =>
      html`<li>trial ${trial.trial}, ${changesList(trial.assignment, baseline?.assignment)}: ${ineligibilitiesText(trial.reasons)}</li>`,
  );
  return html`<h2 id="out">Not in the ranking</h2>
${groups.map((group) => groupMarkup(group, data.launches, baseline))}
${items.length === 0 ? null : html`<h3>Measured, but out: ${items.length}</h3><ul>${items}</ul>`}`;
}

function groupsOf(trials: readonly StoredTrial[]): readonly Group[] {
  const inState = (state: StoredTrial['state']) => trials.filter((trial) => trial.state === state);
  const skipped = inState('skipped');
  return [
    {
      title: 'Failed',
      what: 'a fault of the environment; --retry tries them again',
      trials: inState('failed'),
    },
    {
      title: 'Infeasible',
      what: 'the server cannot run with these flags',
      trials: inState('infeasible'),
    },
    {
      title: 'Partly measured',
      what: 'some concurrency was not survived',
      trials: inState('partial').filter(({ cause }) => cause !== COULD_NOT_WIN),
    },
    {
      title: 'Dropped',
      what: 'could not win any more in the middle of its launch; measure.drop_losers: false measures all',
      trials: inState('partial').filter(({ cause }) => cause === COULD_NOT_WIN),
    },
    {
      title: 'Equivalent',
      what: 'the same server as another trial, launched once',
      trials: skipped.filter(({ cause }) => cause === 'equivalent'),
    },
    {
      title: 'Skipped',
      what: 'never launched: a known rule, or what a failure told',
      trials: skipped.filter(({ cause }) => cause !== 'equivalent'),
    },
    {
      title: 'Not measured yet',
      what: 'the same sweep command goes on',
      trials: inState('planned'),
    },
  ];
}

/** Trials of one reason share a heading, so that 200 skipped by one rule are one line to read. */
function groupMarkup(
  { title, what, trials }: Group,
  launches: readonly StoredLaunch[],
  baseline: StoredTrial | undefined,
): Markup {
  const reasons = [...groupByReason(trials)].map(([reason, own]) => {
    const items = own.map((trial) => trialItem(trial, launches, baseline));
    return html`<details><summary>${reason}${own.length > 1 ? html` <span class="soft">(${own.length} trials)</span>` : null}</summary><ul>${items}</ul></details>`;
  });
  return html`<h3>${title}: ${trials.length}</h3><p class="soft">${what}</p>${reasons}`;
}

function groupByReason(trials: readonly StoredTrial[]): ReadonlyMap<string, StoredTrial[]> {
  const groups = new Map<string, StoredTrial[]>();
  for (const trial of trials) {
    const reason = [trial.cause, trial.reason].filter((part) => part !== null && part !== '');
    const key = reason.length === 0 ? trial.state : reason.join(': ');
    groups.set(key, [...(groups.get(key) ?? []), trial]);
  }
  return groups;
}

function trialItem(
  trial: StoredTrial,
  launches: readonly StoredLaunch[],
  baseline: StoredTrial | undefined,
): Markup {
  const bad = launches.findLast(
    ({ trialId, state, logTail }) =>
      trialId === trial.id && state !== 'completed' && logTail.length > 0,
  );
  const tail = bad?.logTail.slice(-TAIL_LINES).join('\n');
  return html`<li>trial ${trial.number}: ${changesList(trial.assignment, baseline?.assignment)}
${tail === undefined ? null : html`<pre>${tail}</pre>`}</li>`;
}
