import { describe, expect, test } from 'vitest';
import { gpuReadings } from '../../../src/report/gpu-readings.ts';
import type { StoredGpuSample } from '../../../src/storage/study-store.ts';

function sample(parts: Partial<StoredGpuSample>): StoredGpuSample {
  return {
    takenAtMs: 1000,
    gpuIndex: 0,
    temperatureCelsius: 60,
    smClockMhz: 1900,
    powerWatts: 400,
    memoryUsedMib: 1000,
    throttleReasons: [],
    ...parts,
  };
}

describe('the reading of a measurement', () => {
  test('is the hottest GPU and the median clock of the slowest', () => {
    const samples = [
      sample({ smClockMhz: 1900 }),
      sample({ gpuIndex: 1, smClockMhz: 1500, temperatureCelsius: 81 }),
      sample({ takenAtMs: 2000, smClockMhz: 1910 }),
      sample({ takenAtMs: 2000, gpuIndex: 1, smClockMhz: 1700, temperatureCelsius: 79 }),
    ];
    expect(gpuReadings([{ id: 1, concurrency: 4 }], () => samples)).toEqual([
      {
        concurrency: 4,
        atMs: 1000,
        temperatureCelsius: 81,
        smClockMhz: 1600,
        throttleReasons: [],
      },
    ]);
  });

  test('says what a driver does not tell with null, and each throttle reason once', () => {
    const samples = [
      sample({ temperatureCelsius: null, smClockMhz: null, throttleReasons: ['sw_power_cap'] }),
      sample({
        temperatureCelsius: null,
        smClockMhz: null,
        throttleReasons: ['sw_power_cap', 'hw_slowdown'],
      }),
    ];
    const [reading] = gpuReadings([{ id: 1, concurrency: 4 }], () => samples);
    expect(reading).toMatchObject({
      temperatureCelsius: null,
      smClockMhz: null,
      throttleReasons: ['sw_power_cap', 'hw_slowdown'],
    });
  });

  test('is absent for a measurement without samples; the others are in order of time', () => {
    const byId = new Map([
      [1, [sample({ takenAtMs: 9000 })]],
      [3, [sample({ takenAtMs: 2000 })]],
    ]);
    const measurements = [1, 2, 3].map((id) => ({ id, concurrency: id }));
    const found = gpuReadings(measurements, (id) => byId.get(id) ?? []);
    expect(found.map(({ concurrency }) => concurrency)).toEqual([3, 1]);
  });
});
