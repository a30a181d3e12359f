import type { Clock } from '../clock.ts';
import type { Host } from '../host/host.ts';
import { readGpus } from './gpu-gate.ts';
import type { GpuState } from './gpu-smi.ts';

/** What the GPUs did during one measurement; medians and maxima over samples and GPUs. */
export interface GpuSummary {
  readonly samples: number;
  readonly medianSmClockMhz: number | undefined;
  readonly maxTemperatureCelsius: number | undefined;
  readonly medianPowerWatts: number | undefined;
  /** Each reason that was seen, with the share of samples that showed it. */
  readonly throttleFractions: Readonly<Record<string, number>>;
}

/** A clock further from the baseline's than this makes two measurements unequal. */
export const CLOCK_TOLERANCE_FRACTION = 0.03;

/** Sums up samples; undefined when there are none. */
export function summarizeGpus(samples: readonly (readonly GpuState[])[]): GpuSummary | undefined {
  const states = samples.flat();
  if (states.length === 0) return undefined;
  const reasons = [...new Set(states.flatMap(({ throttleReasons }) => throttleReasons))].sort();
  const share = (reason: string) =>
    states.filter(({ throttleReasons }) => throttleReasons.includes(reason)).length / states.length;
  const temperatures = defined(states.map(({ temperatureCelsius }) => temperatureCelsius));
  return {
    samples: samples.length,
    medianSmClockMhz: median(defined(states.map(({ smClockMhz }) => smClockMhz))),
    maxTemperatureCelsius: temperatures.length === 0 ? undefined : Math.max(...temperatures),
    medianPowerWatts: median(defined(states.map(({ powerWatts }) => powerWatts))),
    throttleFractions: Object.fromEntries(reasons.map((reason) => [reason, share(reason)])),
  };
}

/**
 * How far a measurement's clock is from the baseline's, as a fraction (-0.05: 5 % slower), when
 * that is too far to compare them; undefined when it is near, or unknown.
 */
export function clockMark(
  measured: GpuSummary | undefined,
  baseline: GpuSummary | undefined,
): number | undefined {
  const clock = measured?.medianSmClockMhz;
  const reference = baseline?.medianSmClockMhz;
  if (clock === undefined || reference === undefined || reference === 0) return undefined;
  const difference = clock / reference - 1;
  return Math.abs(difference) > CLOCK_TOLERANCE_FRACTION ? difference : undefined;
}

/**
 * Samples the GPUs until `signal` aborts. A sample that fails is left out: nothing about a GPU may
 * end a measurement.
 *
 * @returns undefined where there is no nvidia-smi.
 */
export async function sampleGpus(
  host: Host,
  {
    clock,
    everyMs,
    signal,
  }: {
    readonly clock: Clock;
    readonly everyMs: number;
    readonly signal: AbortSignal;
  },
): Promise<GpuSummary | undefined> {
  const samples: (readonly GpuState[])[] = [];
  while (!signal.aborted) {
    const snapshot = await readGpus(host).catch(() => 'failed' as const);
    if (snapshot === undefined) return undefined;
    if (snapshot !== 'failed') samples.push(snapshot.gpus);
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
  return summarizeGpus(samples);
}

function defined(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined);
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) return undefined;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
