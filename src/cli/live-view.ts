import { createLogUpdate } from 'log-update';
import { systemClock } from '../clock.ts';
import type { StudyEvent } from '../study/events.ts';
import type { CliContext } from './context.ts';
import { progressPrinter } from './progress.ts';

/** Redrawing faster than the eye only costs the load generator's processor time. */
const REDRAW_MS = 200;

export interface LiveView extends AsyncDisposable {
  readonly emit: (event: StudyEvent) => void;
}

/** Shows a sweep: lines that stay, and on a terminal one line below that tells what happens now. */
export function openLiveView(context: CliContext): LiveView {
  const terminal = context.isTerminal ? createLogUpdate(process.stdout) : undefined;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  const line = (text: string): void => {
    terminal?.clear();
    context.stdout(`${text}\n`);
    drawnAtMs = Number.NEGATIVE_INFINITY;
  };
  const live = (text: string): void => {
    if (terminal === undefined || systemClock.nowMs() - drawnAtMs < REDRAW_MS) return;
    drawnAtMs = systemClock.nowMs();
    terminal(text.slice(0, Math.max(20, process.stdout.columns - 1)));
  };
  return {
    emit: progressPrinter(line, live, () => systemClock.nowMs()),
    [Symbol.asyncDispose]: () => {
      terminal?.clear();
      return Promise.resolve();
    },
  };
}
