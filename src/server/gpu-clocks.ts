import type { Clock } from '../clock.ts';
import type { Host } from '../host/host.ts';
import { readGpuStates } from './gpu-gate.ts';
import type { GpuState } from './gpu-smi.ts';

/** The GPUs at one moment, wall-clock ms since 1970. */
export interface GpuSample {
  readonly takenAtMs: number;
  readonly gpus: readonly GpuState[];
}

/** What the GPUs of the server did during one measurement; medians and maxima over samples and GPUs. */
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
export function summarizeGpus(samples: readonly Pick<GpuSample, 'gpus'>[]): GpuSummary | undefined {
  const states = samples.flatMap(({ gpus }) => serving(gpus));
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
  measured: Pick<GpuSummary, 'medianSmClockMhz'> | undefined,
  baseline: Pick<GpuSummary, 'medianSmClockMhz'> | undefined,
): number | undefined {
  const clock = measured?.medianSmClockMhz;
  const reference = baseline?.medianSmClockMhz;
  if (clock === undefined || reference === undefined || reference === 0) return undefined;
  const difference = clock / reference - 1;
  return Math.abs(difference) > CLOCK_TOLERANCE_FRACTION ? difference : undefined;
}

/**
 * Samples the GPUs until `signal` aborts, at least once. A sample that fails is left out: nothing
 * about a GPU may end a measurement.
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
): Promise<readonly GpuSample[] | undefined> {
  const samples: GpuSample[] = [];
  do {
    const takenAtMs = clock.wallMs();
    const gpus = await readGpuStates(host).catch(() => 'failed' as const);
    if (gpus === undefined) return undefined;
    if (gpus !== 'failed') samples.push({ takenAtMs, gpus });
    await clock.sleep(everyMs, signal).catch(() => undefined);
  } while (!signal.aborted);
  return samples;
}

/**
 * The GPUs of a sample that hold the server: those with at least a quarter of the memory that the
 * fullest one has in use. On a machine with more GPUs than the server takes, the idle ones would
 * hide what the clocks of the others do. All, where memory is not told.
 */
function serving(gpus: readonly GpuState[]): readonly GpuState[] {
  const fullestMib = Math.max(...gpus.map(({ memoryUsedMib }) => memoryUsedMib ?? 0));
  return gpus.filter(({ memoryUsedMib }) => (memoryUsedMib ?? 0) >= fullestMib / 4);
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
