import { describe, expect, test } from 'vitest';
import { LiveLines } from '../../../src/cli/live-lines.ts';
import { progressPrinter } from '../../../src/cli/progress.ts';
import type { StudyEvent } from '../../../src/study/events.ts';
import { metrics } from '../../contract/study-store.contract.ts';

const PROFILE = new Map([
  [1, 0.5],
  [4, 0.5],
]);
const MINUTE = 60_000;

function started(launch: number, launchesLeft: number): StudyEvent {
  const isBaseline = launch === 1;
  return {
    type: 'launch-started',
    trial: launch - 1,
    assignment: {},
    isBaseline,
    round: 0,
    launch,
    launchesLeft,
  };
}

function measured(trial: number, concurrency: number, changeFraction: number | null): StudyEvent {
  const isBaseline = changeFraction === null;
  return {
    type: 'measured',
    trial,
    isBaseline,
    concurrency,
    repeat: 0,
    metrics: metrics({ concurrency }),
    changeFraction,
  };
}

function live(
  events: readonly (readonly [number, StudyEvent])[],
  nowMs: number,
  columns = 120,
): string {
  const lines = new LiveLines({ profile: PROFILE, nameOf: ({ trial }) => `trial ${trial}` }, 0);
  for (const [atMs, event] of events) lines.take(event, atMs);
  return lines.lines(nowMs, columns).join('\n');
}

describe('the live view', () => {
  test('knows no time left before the first launch has ended', () => {
    const text = live([[0, started(1, 9)]], 3 * MINUTE);
    expect(text).toContain('9 launches left, 3 min so far');
    expect(text).not.toContain('about');
  });

  test('reckons the time left from this sweep’s launches, less what the current one ran', () => {
    const text = live(
      [
        [0, started(1, 4)],
        [10 * MINUTE, started(2, 3)],
      ],
      15 * MINUTE,
    );
    expect(text).toContain('3 launches left, about 25 min (10 min each so far), 15 min so far');
  });

  test('names the best of the trials that are measured at the whole profile', () => {
    const text = live(
      [
        [0, started(2, 2)],
        [1, measured(1, 1, 0.1)],
        [1, measured(1, 4, 0.21)],
        [2, measured(2, 1, 0.9)],
      ],
      MINUTE,
    );
    // sqrt(1.1 * 1.21) = 1.1537
    expect(text).toContain('best so far: #1 +15.4 %');
  });

  test('shows the last measurement against the baseline, and the last warning', () => {
    const text = live(
      [
        [0, started(3, 2)],
        [1, measured(2, 4, -0.034)],
        [
          2,
          {
            type: 'trial-ended',
            trial: 2,
            state: 'infeasible',
            cause: 'x',
            reason: 'out of memory',
          },
        ],
      ],
      MINUTE,
    );
    expect(text).toContain('last: #2 C=4 1200.0 tok/s -3.4 %');
    expect(text).toContain('warning: #2 infeasible: out of memory');
  });

  test.each([20, 40, 80])('is never wider than %i columns', (columns) => {
    const text = live(
      [
        [0, started(1, 9)],
        [1, { type: 'notice', text: 'x'.repeat(300) }],
      ],
      MINUTE,
      columns,
    );
    for (const line of text.split('\n')) expect(line.length).toBeLessThan(columns);
  });
});

test('a pipe gets only the lines that stay', () => {
  const lines: string[] = [];
  const emit = progressPrinter(
    (text) => lines.push(text),
    () => undefined,
    () => 0,
  );
  emit(started(1, 9));
  emit({ type: 'measuring', trial: 0, concurrency: 4, repeat: 0, phase: 'measure' });
  emit(measured(0, 4, null));
  expect(lines).toEqual(['launch 1  baseline', '    C=4     1200.0 tok/s']);
});
