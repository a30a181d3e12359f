import { createLogUpdate } from 'log-update';
import { systemClock } from '../clock.ts';
import type { StudyEvent } from '../study/events.ts';
import type { CliContext } from './context.ts';
import type { LiveLines } from './live-lines.ts';
import { progressPrinter } from './progress.ts';

/** Redrawing faster than the eye only costs the load generator's processor time. */
const REDRAW_MS = 200;

export interface LiveView extends AsyncDisposable {
  readonly emit: (event: StudyEvent) => void;
}

/** Narrow enough for any terminal that does not say how wide it is. */
const UNKNOWN_COLUMNS = 80;

/**
 * Shows a sweep: lines that stay, and on a terminal a few below that tell what happens now.
 *
 * @param profile weights of "best so far"; without it none is shown.
 */
export function openLiveView(
  context: CliContext,
  profile: ReadonlyMap<number, number> = new Map(),
): LiveView {
  const terminal = context.isTerminal ? createLogUpdate(process.stdout) : undefined;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  const line = (text: string): void => {
    terminal?.clear();
    context.stdout(`${text}\n`);
    drawnAtMs = Number.NEGATIVE_INFINITY;
  };
  const live = (lines: LiveLines): void => {
    if (terminal === undefined || systemClock.nowMs() - drawnAtMs < REDRAW_MS) return;
    drawnAtMs = systemClock.nowMs();
    // A terminal may say 0 (a serial line, some containers).
    const columns = process.stdout.columns > 0 ? process.stdout.columns : UNKNOWN_COLUMNS;
    terminal(lines.lines(drawnAtMs, columns).join('\n'));
  };
  return {
    emit: progressPrinter(line, live, () => systemClock.nowMs(), profile),
    [Symbol.asyncDispose]: () => {
      terminal?.clear();
      return Promise.resolve();
    },
  };
}
