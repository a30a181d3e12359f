import * as Plot from '@observablehq/plot';
import { type Effect, effectsOf, type Interaction } from '../ranking/effects.ts';
import type { FlagValue } from '../search-space/assignment.ts';
import { signedPercent } from './figures.ts';
import { assignmentList } from './html-changes.ts';
import { html, type Markup } from './html-markup.ts';
import { picture } from './html-plot.ts';
import type { ReportData } from './html-report-data.ts';

/** Values in the picture, the strongest first, and interactions in the list. */
const SHOWN = 16;

/** What each value does by itself, and which values change what others do. */
export function effectsSection({ outcome }: ReportData): Markup {
  if (outcome.state === 'unranked') return html``;
  const { mains, interactions } = effectsOf(outcome.ranking);
  if (mains.length === 0) return html``;
  const strongest = [...mains]
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change))
    .slice(0, SHOWN);
  const items = strongest.map(
    (main) =>
      html`<tr><td class="text wide">${name(main.parameter, main.value)}</td><td>${signedPercent(main.change)}</td><td>${interval(main)}</td><td>${main.trials}</td></tr>`,
  );
  return html`<h2 id="effects">What each value does</h2>
<p class="soft">Change of the relative score beside the baseline’s value, all else as in production; estimated from all
ranked trials together, with intervals one by one. Values that were never set apart share what they do together.</p>
${effectPicture(strongest.map((main, i) => ({ ...main, name: `${i + 1}` })))}
<div class="scroll"><table><thead><tr><th class="text">value, in the order of the picture</th><th>effect</th><th>interval</th><th>trials</th></tr></thead><tbody>${items}</tbody></table></div>
${interactionList(interactions)}`;
}

function effectPicture(rows: readonly (Effect & { readonly name: string })[]): Markup {
  return picture('effect of each value on the score, with its interval', ({ isNarrow }) => ({
    height: 50 + rows.length * 20,
    marginLeft: 40,
    marginRight: 32,
    marginTop: 30,
    x: {
      axis: 'top',
      grid: true,
      nice: true,
      ticks: isNarrow ? 4 : 8,
      label: null,
      tickFormat: (value: number) => signedPercent(value, 0),
    },
    y: { type: 'band', domain: rows.map((row) => row.name), label: null },
    marks: [
      Plot.ruleX([0], { stroke: 'var(--soft)' }),
      Plot.ruleY(rows, {
        y: 'name',
        x1: 'low',
        x2: 'high',
        stroke: 'var(--series-1)',
        strokeWidth: 3,
        strokeOpacity: 0.55,
      }),
      Plot.dot(rows, { y: 'name', x: 'change', fill: 'var(--series-1)', r: 4 }),
    ],
  }));
}

function interactionList(interactions: readonly Interaction[]): Markup {
  if (interactions.length === 0) {
    return html`<p>No two values were seen to change what the other does.</p>`;
  }
  const items = interactions
    .slice(0, SHOWN)
    .map(
      (one) =>
        html`<li>${name(one.parameter, one.value)}: ${signedPercent(one.alone.change)} alone, ${signedPercent(one.together.change)} with ${name(one.withParameter, one.withValue)} (difference ${interval(one.interaction)})</li>`,
    );
  return html`<h3>Values that change what others do</h3><ul>${items}</ul>`;
}

function name(parameter: string, value: FlagValue): string {
  return assignmentList({ [parameter]: value });
}

function interval({ low, high }: Effect): string {
  return `${signedPercent(low)} to ${signedPercent(high)}`;
}
