import type { Clock } from '../clock.ts';
import type { Host } from '../host/host.ts';
import {
  clockMark,
  type GpuSample,
  type GpuSummary,
  sampleGpus,
  summarizeGpus,
} from '../server/gpu-clocks.ts';
import type { StoredMeasurement } from '../storage/study-store.ts';
import type { Measurer, PointRequest, PointResult } from './services.ts';

/** One short command each time: a measurement of three minutes has 36 samples. */
const SAMPLE_EVERY_MS = 5000;

/** Condition that keeps the median clock, so that a resumed sweep knows the baseline's. */
const CLOCK_CONDITION = 'gpu_sm_clock_mhz';

export interface GpuWatchOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** What is stored of the baseline already. */
  readonly baseline?: readonly Pick<StoredMeasurement, 'metrics' | 'conditions'>[];
  readonly everyMs?: number;
}

/**
 * Watches the GPUs of `host` during the load of each measurement. Samples are stored with it; a
 * median clock too far from the baseline's at the same concurrency is a mark. The baseline itself
 * is compared with its own earlier measurements.
 */
export function watchGpus(measurer: Measurer, options: GpuWatchOptions): Measurer {
  const clocks = new Map<number, number[]>();
  const remember = (concurrency: number, clockMhz: unknown) => {
    if (typeof clockMhz !== 'number') return;
    clocks.set(concurrency, [...(clocks.get(concurrency) ?? []), clockMhz]);
  };
  for (const { metrics, conditions } of options.baseline ?? []) {
    remember(metrics.concurrency, conditions[CLOCK_CONDITION]);
  }
  return {
    measure: async (request) => {
      const { point, samples } = await measureWatched(measurer, request, options);
      if (samples === undefined) {
        return { ...point, conditions: { ...point.conditions, gpu_gate: 'absent: no nvidia-smi' } };
      }
      const summary = summarizeGpus(samples);
      const watched = withGpus(point, samples, summary, middle(clocks.get(request.concurrency)));
      if (request.isBaseline === true) remember(request.concurrency, summary?.medianSmClockMhz);
      return watched;
    },
  };
}

/** Measures, and samples from the moment the load begins until it has ended. */
async function measureWatched(
  measurer: Measurer,
  request: PointRequest,
  { host, clock, everyMs = SAMPLE_EVERY_MS }: GpuWatchOptions,
): Promise<{
  readonly point: PointResult;
  /** Undefined where there is no nvidia-smi. */
  readonly samples: readonly GpuSample[] | undefined;
}> {
  const stop = new AbortController();
  let sampling: Promise<readonly GpuSample[] | undefined> | undefined;
  const begin = () => {
    sampling ??= sampleGpus(host, { clock, everyMs, signal: stop.signal });
  };
  try {
    const point = await measurer.measure({
      ...request,
      onPhase: (phase) => {
        request.onPhase(phase);
        if (phase === 'measure') begin();
      },
    });
    // A measurement that never came to its load says nothing about clocks.
    stop.abort();
    return { point, samples: sampling === undefined ? [] : await sampling };
  } finally {
    stop.abort();
    await sampling;
  }
}

function withGpus(
  point: PointResult,
  samples: readonly GpuSample[],
  summary: GpuSummary | undefined,
  baselineMhz: number | undefined,
): PointResult {
  if (summary === undefined) return point;
  const off = clockMark(summary, { medianSmClockMhz: baselineMhz });
  const throttled = throttledText(summary);
  return {
    ...point,
    gpuSamples: samples,
    conditions: {
      ...point.conditions,
      gpu_samples: summary.samples,
      [CLOCK_CONDITION]: summary.medianSmClockMhz ?? null,
      gpu_max_temperature_celsius: summary.maxTemperatureCelsius ?? null,
      gpu_power_watts: summary.medianPowerWatts ?? null,
      gpu_throttled: throttled,
    },
    metrics:
      off === undefined
        ? point.metrics
        : {
            ...point.metrics,
            marks: [
              ...point.metrics.marks,
              {
                code: 'gpu-clock-differs',
                facts: {
                  changeFraction: off,
                  clockMhz: summary.medianSmClockMhz ?? 0,
                  baselineMhz: baselineMhz ?? 0,
                  throttled,
                },
              },
            ],
          },
  };
}

/** `sw_power_cap 40 %, sw_thermal_slowdown 5 %`; empty when nothing held the clocks back. */
function throttledText({ throttleFractions }: GpuSummary): string {
  return Object.entries(throttleFractions)
    .map(([reason, fraction]) => `${reason} ${String(Math.round(fraction * 100))} %`)
    .join(', ');
}

/** The middle value, the lower of two; undefined when there is none. */
function middle(values: readonly number[] | undefined): number | undefined {
  const sorted = [...(values ?? [])].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
