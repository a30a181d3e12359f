import { changesText } from '../report/assignment-text.ts';
import { signedPercent } from '../report/figures.ts';
import type { Assignment } from '../search-space/assignment.ts';
import { formatValue } from '../search-space/values.ts';
import type { StudyEvent } from '../study/events.ts';
import { LiveLines } from './live-lines.ts';

/** What a line that stays needs to know of those before it. */
interface Progress {
  baseline: Assignment | undefined;
}

/**
 * Turns the events of a sweep into lines for the terminal.
 *
 * Lines that stay (a launch, a measurement, the end of a trial) go to `line`; what passes (stage
 * of a start, progress of a load run, time left) goes to `live`, which a terminal overwrites and
 * a pipe leaves out.
 *
 * @param profile weights of "best so far".
 */
export function progressPrinter(
  line: (text: string) => void,
  live: (lines: LiveLines) => void,
  nowMs: () => number,
  profile: ReadonlyMap<number, number> = new Map(),
): (event: StudyEvent) => void {
  const progress: Progress = { baseline: undefined };
  const nameOf = (event: StudyEvent & { readonly type: 'launch-started' }) =>
    trialName(event, progress.baseline);
  const lines = new LiveLines({ profile, nameOf }, nowMs());
  return (event) => {
    const text = lineOf(event, progress);
    if (text !== undefined) line(text);
    lines.take(event, nowMs());
    live(lines);
  };
}

function lineOf(event: StudyEvent, progress: Progress): string | undefined {
  switch (event.type) {
    case 'planned': {
      progress.baseline = event.baseline;
      const kept = event.kept === 0 ? '' : `, ${String(event.kept)} measurements kept`;
      return `${String(event.trials)} trials, ${String(event.launches)} launches to go${kept}`;
    }
    case 'cleaned-up':
      return event.ended.length === 0
        ? undefined
        : `ended what an interrupted sweep left: ${event.ended.join(', ')}`;
    case 'launch-started':
      return `launch ${String(event.launch)}  ${trialName(event, progress.baseline)}${event.round === 0 ? '' : `  (launch ${String(event.round + 1)} of this trial)`}`;
    case 'ready':
      return `    ready after ${event.seconds.toFixed(1)} s`;
    case 'measured': {
      const { metrics } = event;
      const change =
        event.changeFraction === null ? '' : `  ${signedPercent(event.changeFraction)}`;
      const speed = metrics.outputTokensPerSecond.toFixed(1).padStart(8);
      const marks = metrics.marks.map((mark) => mark.code).join(', ');
      return `    C=${String(event.concurrency).padEnd(4)}${speed} tok/s${change}${marks === '' ? '' : `  [${marks}]`}`;
    }
    case 'trial-ended':
      if (event.state === 'completed') return undefined;
      return event.state === 'skipped'
        ? `#${String(event.trial)} skipped, ${event.reason ?? ''}`
        : `    ${event.state}: ${event.reason ?? ''}`;
    case 'no-effect':
      return `    ${event.parameter}: asked ${formatValue(event.asked)}, the server runs ${formatValue(event.effective)}`;
    case 'finalists':
      return event.trials.length === 0
        ? 'nothing to confirm: no trial is above the baseline, or measure.launches is 1'
        : `finalists: ${event.trials.map((trial) => `#${String(trial)}`).join(', ')}, confirmed beside the baseline`;
    case 'jump':
      return jumpText(event);
    case 'confirmed':
      return `confirmed in ${String(event.rounds)} rounds: ${CONFIRMED_TEXT[event.why]}`;
    case 'notice':
      return event.text;
    case 'stage':
    case 'measuring':
    case 'load':
      return undefined;
  }
}

function trialName(
  event: StudyEvent & { readonly type: 'launch-started' },
  baseline: Assignment | undefined,
): string {
  return event.isBaseline
    ? 'baseline'
    : `#${String(event.trial)} ${changesText(event.assignment, baseline)}`;
}

const CONFIRMED_TEXT = {
  resolved: 'the gains are known closely enough',
  hopeless: 'no finalist can beat the baseline any more',
  rounds: 'all planned rounds are done',
} as const;

function jumpText({ changeFraction, trials }: StudyEvent & { readonly type: 'jump' }): string {
  const again =
    trials.length === 0
      ? ''
      : `; launched again: ${trials.map((trial) => `#${String(trial)}`).join(', ')}`;
  return `the baseline changed by ${signedPercent(changeFraction)}, more than noise${again}`;
}
