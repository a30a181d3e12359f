import { describe, expect, test } from 'vitest';
import type { LoadRun } from '../../../src/load/load-run.ts';
import { warmUpUntilSettled } from '../../../src/load/warm-up.ts';
import { completedRequest } from '../metrics/records.ts';

const selfCheck = { eventLoopDelayP99Ms: 0, cpuFraction: 0, dispatchLagP99Ms: 0, peakInFlight: 1 };

/** A window of one request with this many tokens per second, for `seconds`. */
function windowAt(tokensPerSecond: number, seconds = 10, verifyCount?: number): LoadRun {
  const outputTokens = Math.round(tokensPerSecond * seconds);
  const endedAtMs = seconds * 1000;
  const record = completedRequest({ chunks: 1, outputTokens, endedAtMs });
  const records = [verifyCount === undefined ? record : { ...record, verifyCount }];
  return { records, end: 'completed', durationMs: endedAtMs, selfCheck };
}

/** Warms up on windows of these speeds, the last one for ever. */
function warmUp(speeds: readonly number[], options: { expected?: number; seconds?: number } = {}) {
  const { expected, seconds = 10 } = options;
  const speed = (i: number) => speeds[Math.min(i, speeds.length - 1)] ?? 0;
  return warmUpUntilSettled((i) => Promise.resolve(windowAt(speed(i), seconds)), {
    timeScale: 1,
    expected,
  });
}

describe('a warm-up', () => {
  test('goes on until two windows agree, and keeps the curve (C13)', async () => {
    const { settled, curve } = await warmUp([1187, 7653, 10_996, 11_174, 11_266]);
    expect(settled).toBe(true);
    expect(curve).toEqual([1187, 7653, 10_996, 11_174]);
  });

  test('of a warm server takes two windows', async () => {
    expect((await warmUp([100, 101])).curve).toHaveLength(2);
  });

  test('that keeps getting faster is given up and told', async () => {
    const rising = Array.from({ length: 40 }, (_, i) => 100 * 1.2 ** i);
    const { settled, curve } = await warmUp(rising);
    expect(settled).toBe(false);
    expect(curve).toHaveLength(6);
  });

  test('that scatters without a trend is settled', async () => {
    expect((await warmUp([100, 80, 95, 75, 99, 81], { seconds: 1 })).settled).toBe(true);
  });

  test('after a flush waits for the speed from before it, however equal the slow windows (C11)', async () => {
    const { settled, curve } = await warmUp([40, 40, 41, 99], { expected: 100 });
    expect(settled).toBe(true);
    expect(curve).toHaveLength(4);
  });

  test('is judged by verify steps: how many drafts are accepted depends on the prompts', async () => {
    const tokens = [100, 150, 80];
    const { settled, curve } = await warmUpUntilSettled(
      (i) => Promise.resolve(windowAt(tokens[i] ?? 100, 10, 500)),
      { timeScale: 1 },
    );
    expect(settled).toBe(true);
    expect(curve).toEqual([50, 50]);
  });

  test('that a limit cut short ends there', async () => {
    const stalled: LoadRun = { ...windowAt(10), end: 'stalled' };
    const result = await warmUpUntilSettled(() => Promise.resolve(stalled), { timeScale: 1 });
    expect(result).toEqual({ settled: false, curve: [], cutShort: stalled });
  });
});
