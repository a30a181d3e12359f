import { expect, test } from 'vitest';
import type { Host } from '../../../src/host/host.ts';
import { watchGpus } from '../../../src/study/gpu-watch.ts';
import type { Measurer, PointRequest, PointResult } from '../../../src/study/services.ts';
import { metrics } from '../../contract/study-store.contract.ts';

const signal = new AbortController().signal;
/** A clock that does not wait: sampling ends with the measurement. */
const clock = {
  wallMs: () => 5000,
  nowMs: () => 0,
  sleep: async () => new Promise<void>((resolve) => setImmediate(resolve)),
};

/** A machine whose GPU runs at `mhz`; undefined for one without nvidia-smi. */
function machine(mhz: number | undefined): Host {
  const stdout = `0, GPU-a, NVIDIA H200, 570.86.15, 9.0, 143771, 90000, 61, ${String(mhz)}, 640.5, 0x0000000000000004\n`;
  return {
    name: 'box',
    run: async () =>
      Promise.resolve({
        exitCode: mhz === undefined ? 127 : 0,
        signal: null,
        timedOut: false,
        stdout: mhz === undefined ? '' : stdout,
        stderr: '',
        truncated: false,
      }),
    readText: async () => Promise.resolve(undefined),
    writeText: async () => Promise.resolve(),
  };
}

const point: PointResult = {
  metrics: metrics(),
  records: [],
  usable: true,
  why: 'completed',
  conditions: { api: 'native' },
};

const measurer: Measurer = {
  measure: async ({ onPhase }) => {
    onPhase('warm-up');
    onPhase('measure');
    return Promise.resolve(point);
  },
};

const request = (over: Partial<PointRequest> = {}): PointRequest => ({
  facts: {
    version: null,
    model: 'm',
    timeScale: 1,
    simulated: false,
    runningLimit: null,
    serverInfo: null,
  },
  concurrency: 16,
  round: 0,
  repeat: 0,
  signal,
  onPhase: () => undefined,
  onProgress: () => undefined,
  ...over,
});

const baselineAt = (mhz: number) => [{ metrics: metrics(), conditions: { gpu_sm_clock_mhz: mhz } }];

test('what the GPUs did is kept with the measurement', async () => {
  const watch = watchGpus(measurer, { host: machine(1755), clock });
  const { gpuSamples, conditions } = await watch.measure(request());
  expect(gpuSamples?.[0]?.takenAtMs).toBe(5000);
  expect(conditions).toMatchObject({
    api: 'native',
    gpu_sm_clock_mhz: 1755,
    gpu_max_temperature_celsius: 61,
    gpu_throttled: 'sw_power_cap 100 %',
  });
});

test.each([
  { mhz: 1755, marked: true },
  { mhz: 1900, marked: false },
])('$mhz MHz against a stored baseline of 1905 is marked: $marked', async ({ mhz, marked }) => {
  const watch = watchGpus(measurer, { host: machine(mhz), clock, baseline: baselineAt(1905) });
  const { metrics: measured } = await watch.measure(request());
  expect(measured.marks.map(({ code }) => code)).toEqual(marked ? ['gpu-clock-differs'] : []);
});

test('a measurement at another concurrency is not compared: its clocks may be others', async () => {
  const watch = watchGpus(measurer, { host: machine(1500), clock, baseline: baselineAt(1905) });
  const { metrics: measured } = await watch.measure(request({ concurrency: 1 }));
  expect(measured.marks).toEqual([]);
});

test('the baseline of this sweep is what later measurements are compared with', async () => {
  let mhz = 1905;
  const host: Host = { ...machine(1905), run: async (asked) => machine(mhz).run(asked) };
  const watch = watchGpus(measurer, { host, clock });
  await watch.measure(request({ isBaseline: true }));
  mhz = 1755;
  const { metrics: measured } = await watch.measure(request());
  expect(measured.marks).toMatchObject([
    { code: 'gpu-clock-differs', facts: { clockMhz: 1755, baselineMhz: 1905 } },
  ]);
});

test('a machine without nvidia-smi measures, and says that the gate is absent', async () => {
  const watch = watchGpus(measurer, { host: machine(undefined), clock });
  const { conditions, gpuSamples } = await watch.measure(request());
  expect(conditions).toEqual({ api: 'native', gpu_gate: 'absent: no nvidia-smi' });
  expect(gpuSamples).toBeUndefined();
});

test('a measurement that fails ends the sampling', async () => {
  const failing: Measurer = {
    measure: async ({ onPhase }) => {
      onPhase('measure');
      return Promise.reject(new Error('the server is gone'));
    },
  };
  const watch = watchGpus(failing, { host: machine(1755), clock });
  await expect(watch.measure(request())).rejects.toThrow('the server is gone');
});
