import { median } from '../metrics/statistics.ts';
import type { StoredGpuSample, StoredMeasurement } from '../storage/study-store.ts';

/** What the GPUs of a server did during one measurement. */
export interface GpuReading {
  readonly concurrency: number;
  /** Moment of its first sample, wall-clock ms. */
  readonly atMs: number;
  /** Highest of any GPU; null where none was reported. */
  readonly temperatureCelsius: number | null;
  /** Median over its samples, of the GPU where that is lowest; null where none was reported. */
  readonly smClockMhz: number | null;
  /** Why a GPU slowed down, each once. */
  readonly throttleReasons: readonly string[];
}

/** A reading for each measurement with samples, in order of time. */
export function gpuReadings(
  measurements: readonly Pick<StoredMeasurement, 'id' | 'concurrency'>[],
  samplesOf: (measurementId: number) => readonly StoredGpuSample[],
): readonly GpuReading[] {
  return measurements
    .flatMap(({ id, concurrency }) => {
      const samples = samplesOf(id);
      const [first] = samples;
      return first === undefined ? [] : reading(concurrency, first.takenAtMs, samples);
    })
    .sort((a, b) => a.atMs - b.atMs);
}

function reading(
  concurrency: number,
  atMs: number,
  samples: readonly StoredGpuSample[],
): GpuReading {
  const temperatures = samples.flatMap(({ temperatureCelsius }) => temperatureCelsius ?? []);
  const gpus = [...new Set(samples.map(({ gpuIndex }) => gpuIndex))];
  const clocks = gpus.flatMap((gpu) => {
    const own = samples.flatMap((one) => (one.gpuIndex === gpu ? (one.smClockMhz ?? []) : []));
    return own.length === 0 ? [] : (median(own) ?? []);
  });
  return {
    concurrency,
    atMs,
    temperatureCelsius: temperatures.length === 0 ? null : Math.max(...temperatures),
    smClockMhz: clocks.length === 0 ? null : Math.min(...clocks),
    throttleReasons: [...new Set(samples.flatMap(({ throttleReasons }) => throttleReasons))],
  };
}
