import { basename } from 'node:path';
import type { Decision } from '../ranking/decide.ts';
import type { Ranking } from '../ranking/ranking.ts';
import { decisionText } from './decision-text.ts';
import { percent } from './figures.ts';
import { changesList } from './html-changes.ts';
import { html, type Markup } from './html-markup.ts';
import type { ReportData } from './html-report-data.ts';
import { intervalText, scoreText } from './ranking-table.ts';

/** What to deploy, how much it gains, how sure that is, and the commands that do it. */
export function decisionSection(data: ReportData): Markup {
  const { outcome, decision } = data;
  if (outcome.state === 'unranked' || decision === null) {
    const problem = outcome.state === 'unranked' ? outcome.problem : '';
    return html`<div class="verdict none"><p class="gain">Not ranked yet</p><p>${problem}</p>
<p>Production stays as it is. What was measured is below; the same sweep command goes on.</p></div>`;
  }
  return html`${verdict(outcome.ranking, decision)}${remaining(data)}${whatToDo(data, decision)}`;
}

function verdict(ranking: Ranking, decision: Decision): Markup {
  const confidence = `${percent(ranking.confidence)} interval`;
  switch (decision.kind) {
    case 'winner': {
      const { winner, baseline } = decision;
      const unit = ranking.scoreKind === 'relative' ? 'over the baseline' : 'tok/s';
      const isReplicated = winner.scoreInterval !== null;
      const sure = isReplicated
        ? html`${confidence}: ${intervalText(ranking, winner)}`
        : 'a single launch: without an interval, confirm it before it is deployed';
      const ties = winner.tiedWith.length === 0 ? '' : tieSentence(winner.tiedWith);
      return html`<div class="verdict winner" id="verdict"><p class="soft">Deploy trial ${winner.trial}</p>
<p class="gain good" id="gain">${scoreText(ranking, winner.score)} <small>${unit}</small></p>
<p>${sure}. ${confirmation(decision.confirmingLaunches, baseline !== null)}</p><p><code>${changesList(winner.assignment, baseline?.assignment)}</code></p><p>${ties}</p></div>`;
    }
    case 'keep':
      return html`<div class="verdict" id="verdict"><p class="gain" id="gain">Keep what you have</p>
<p>${decisionText(ranking, decision)}</p></div>`;
    case 'nothing-feasible':
      return html`<div class="verdict none" id="verdict"><p class="gain bad" id="gain">Nothing is feasible</p>
<p>${decisionText(ranking, decision)}</p></div>`;
  }
}

/** A gain that chose its own trial is flattered by that choice. */
function confirmation(launches: number, hasBaseline: boolean): string {
  if (launches > 0) return `Confirmed by ${launches} launches that did not choose it.`;
  return hasBaseline ? 'Not confirmed by launches that did not choose it: expect less.' : '';
}

function tieSentence(tied: readonly number[]): string {
  const shown = tied.slice(0, 8).join(', ');
  const more = tied.length > 8 ? ` and ${tied.length - 8} more` : '';
  return `Not distinguishable from trial ${shown}${more}; of those it changes production least.`;
}

/** A report of a sweep that is not at its end says so before anybody deploys. */
function remaining({ trials }: ReportData): Markup {
  const planned = trials.filter(({ state }) => state === 'planned').length;
  if (planned === 0) return html``;
  return html`<p class="warn">The sweep is not at its end: ${planned} of ${trials.length} trials are not measured yet.
The same sweep command goes on.</p>`;
}

function whatToDo(data: ReportData, decision: Decision): Markup {
  const { recommendation, study, unitPath } = data;
  if (decision.kind === 'nothing-feasible') return html``;
  if (recommendation.state === 'none') {
    return html`<h2 id="do">What to do</h2><p>No service file: ${recommendation.problem}</p>`;
  }
  const { diff, files } = recommendation.recommendation;
  if (decision.kind === 'keep') {
    return html`<h2 id="do">What to do</h2><p>Nothing: production runs the best of what was tried.</p>`;
  }
  const write = `nightsweep recommend --study ${study.name} --out recommended`;
  if (unitPath === null) {
    const command = files.find(({ name }) => name === 'launch-command.txt')?.text ?? '';
    return html`<h2 id="do">What to do</h2><p>Start the server with:</p><pre>${command}</pre>`;
  }
  const unit = basename(unitPath);
  const dropIn = `/etc/systemd/system/${unit}.d/nightsweep.conf`;
  return html`<h2 id="do">What to do</h2>
<pre>${write}
sudo install -D -m 644 recommended/nightsweep.conf ${dropIn}
sudo systemctl daemon-reload
sudo systemctl restart ${unit}</pre>
<p>Back to what it was:</p><pre>sudo rm ${dropIn}
sudo systemctl daemon-reload
sudo systemctl restart ${unit}</pre>
<h3>What changes in ${unit}</h3>${diffBlock(diff)}`;
}

function diffBlock(diff: string): Markup {
  const lines = diff
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (line.startsWith('+')) return html`<ins>${line}</ins>\n`;
      if (line.startsWith('-')) return html`<del>${line}</del>\n`;
      return html`${line}\n`;
    });
  return html`<pre id="diff">${lines}</pre>`;
}
