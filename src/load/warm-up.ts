import type { LoadRun } from './load-run.ts';

/** Windows agree when the later one is this close to the earlier one. */
const AGREE_FRACTION = 0.05;
/** Time that client and sockets add to a window, wall ms: a fast simulated clock multiplies it. */
const CLIENT_NOISE_MS = 5;
/** Never settled: given up after this many windows, but not before this time (a slow allocator, C11) … */
const MAX_WINDOWS = 6;
const MIN_BOUND_MS = 10_000;
/** … and after this time in any case, once there was something to compare. */
const MAX_BOUND_SECONDS = 120;
const MIN_WINDOWS = 3;
/** Short windows scatter by more than they may differ; from this many on a missing trend is enough. */
const MIN_WINDOWS_OF_NOISE = 4;

/** How a warm-up went. */
export interface WarmUp {
  readonly settled: boolean;
  /** Speed of each window, in order: decode steps per second. */
  readonly curve: readonly number[];
  /** The window that a limit or an interrupt ended; nothing after it is worth measuring. */
  readonly cutShort?: LoadRun;
}

/**
 * Runs windows until two in a row agree, or a bound is reached; with the speed `expected` from an
 * earlier warm-up until one is as fast: two slow ones may agree and still be warming up (field report C13: 1187, 7653, 10996, 11174 tok/s in turn).
 *
 * `runWindow` makes one load run; all windows must be alike.
 */
export async function warmUpUntilSettled(
  runWindow: (number: number) => Promise<LoadRun>,
  {
    timeScale,
    expected,
    limitSeconds = MAX_BOUND_SECONDS,
  }: {
    readonly timeScale: number;
    readonly expected?: number | undefined;
    readonly limitSeconds?: number | undefined;
  },
): Promise<WarmUp> {
  const curve: number[] = [];
  let before: number | undefined;
  let elapsedMs = 0;
  for (;;) {
    const run = await runWindow(curve.length);
    if (run.end !== 'completed') return { settled: false, curve, cutShort: run };
    const speed = stepsPerSecond(run);
    curve.push(speed);
    elapsedMs += run.durationMs;
    const noise = (CLIENT_NOISE_MS * timeScale) / run.durationMs;
    const tolerance = Math.max(AGREE_FRACTION, noise);
    const settled =
      expected === undefined
        ? agree(speed, before, tolerance) || hasStoppedRising(curve)
        : speed >= expected * (1 - tolerance);
    if (settled) return { settled, curve };
    before = speed;
    const windows = curve.length;
    const spent = windows >= MAX_WINDOWS && elapsedMs >= MIN_BOUND_MS;
    const overdue = windows >= MIN_WINDOWS && elapsedMs >= limitSeconds * 1000;
    if (spent || overdue) return { settled: false, curve };
  }
}

function agree(speed: number, before: number | undefined, tolerance: number): boolean {
  if (before === undefined || !(speed > 0)) return false;
  return Math.abs(speed - before) <= tolerance * Math.max(speed, before);
}

/** True when the last two windows are no faster than those before: noise, but no warm-up any more. */
function hasStoppedRising(curve: readonly number[]): boolean {
  if (curve.length < MIN_WINDOWS_OF_NOISE) return false;
  const best = Math.max(...curve.slice(0, -2));
  return curve.slice(-2).every((speed) => speed <= best * (1 + AGREE_FRACTION));
}

/**
 * Decode steps per second of a window: verify steps where there is speculation, else tokens. How
 * many drafts are accepted depends on the prompts and would hide what warms up.
 */
function stepsPerSecond({ records }: LoadRun): number {
  let steps = 0;
  let [startMs, endMs] = [Number.POSITIVE_INFINITY, 0];
  for (const record of records) {
    startMs = Math.min(startMs, record.sentAtMs);
    endMs = Math.max(endMs, record.endedAtMs);
    if (record.outcome === 'completed') steps += record.verifyCount ?? record.outputTokens;
  }
  return endMs > startMs ? (steps / (endMs - startMs)) * 1000 : 0;
}
