import { expect, test } from 'vitest';
import { clockMark, summarizeGpus } from '../../../src/server/gpu-clocks.ts';
import { foreignProcesses, heldMemory, requireOwnGpus } from '../../../src/server/gpu-gate.ts';
import { parseGpuProcesses, parseGpus } from '../../../src/server/gpu-smi.ts';

const H200 =
  '0, GPU-aaaa, NVIDIA H200, 570.86.15, 9.0, 143771, 1203, 41, 1980, 121.53, 0x0000000000000004';

test('a line of nvidia-smi gives every field with its unit', () => {
  expect(parseGpus(`${H200}\n`)).toEqual([
    {
      index: 0,
      uuid: 'GPU-aaaa',
      name: 'NVIDIA H200',
      driverVersion: '570.86.15',
      computeCapability: '9.0',
      memoryTotalMib: 143771,
      memoryUsedMib: 1203,
      temperatureCelsius: 41,
      smClockMhz: 1980,
      powerWatts: 121.53,
      throttleReasons: ['sw_power_cap'],
    },
  ]);
});

test('what the driver does not tell is undefined, not zero', () => {
  const [gpu] = parseGpus(
    '1, GPU-b, NVIDIA GB10, 580.1, 12.1, [N/A], [Not Supported], 40, [N/A], [Unknown Error], [N/A]',
  );
  expect(gpu).toMatchObject({
    memoryTotalMib: undefined,
    memoryUsedMib: undefined,
    smClockMhz: undefined,
    powerWatts: undefined,
    throttleReasons: [],
  });
});

test('a warning between the lines is skipped', () => {
  expect(parseGpus(`WARNING: infoROM is corrupted at gpu 0000:01:00.0\n${H200}\n`)).toHaveLength(1);
});

test('a process keeps the commas of its name', () => {
  expect(parseGpuProcesses('GPU-aaaa, 4242, 1200, /opt/a, b/python3\n')).toEqual([
    { gpuUuid: 'GPU-aaaa', pid: 4242, memoryMib: 1200, name: '/opt/a, b/python3' },
  ]);
});

test('no process is no line', () => {
  expect(parseGpuProcesses('No running processes found\n')).toEqual([]);
});

const used = (mib: number) => ({
  gpus: parseGpus(H200.replace('1203', String(mib))),
  processes: parseGpuProcesses('GPU-aaaa, 7, 900, python3\nGPU-aaaa, 8, 300, Xorg'),
});

test('foreign processes refuse the study by name, unless the user allows them', () => {
  expect(() => {
    requireOwnGpus(used(0), new Set([8]), false);
  }).toThrow('the GPUs are used by others: python3 (pid 7, 900 MiB)');
  requireOwnGpus(used(0), new Set([8]), true);
  requireOwnGpus(used(0), new Set([7, 8]), false);
  expect(foreignProcesses(used(0), new Set())).toHaveLength(2);
});

test.each([
  { before: 1203, now: 1203, held: false },
  { before: 1203, now: 1400, held: false },
  { before: 1203, now: 1460, held: true },
  { before: 1203, now: 90_000, held: true },
  { before: 90_000, now: 1203, held: false },
])('$now MiB after $before MiB before the study is held: $held', ({ before, now, held }) => {
  expect(heldMemory(used(before), used(now)) !== undefined).toBe(held);
});

test('clocks are summed up by their median, throttling by its share', () => {
  const sample = (clock: number, bits: string) => ({
    gpus: parseGpus(H200.replace('1980', String(clock)).replace('0x0000000000000004', bits)),
  });
  expect(
    summarizeGpus([
      sample(1980, '0x0'),
      sample(1500, '0x28'),
      sample(1900, '0x0'),
      sample(1900, '0x1'),
    ]),
  ).toEqual({
    samples: 4,
    medianSmClockMhz: 1900,
    maxTemperatureCelsius: 41,
    medianPowerWatts: 121.53,
    throttleFractions: { hw_slowdown: 0.25, sw_thermal_slowdown: 0.25 },
  });
  expect(summarizeGpus([])).toBeUndefined();
});

test.each([
  { clock: 1900, want: false },
  { clock: 1930, want: false },
  { clock: 1840, want: true },
  { clock: 1960, want: true },
])('a median clock of $clock MHz against 1900 is marked: $want', ({ clock, want }) => {
  const summary = (mhz: number) =>
    summarizeGpus([{ gpus: parseGpus(H200.replace('1980', String(mhz))) }]);
  expect(clockMark(summary(clock), summary(1900)) !== undefined).toBe(want);
});

test('idle GPUs beside those of the server do not hide its clock', () => {
  const idle = H200.replace('0, GPU-aaaa', '1, GPU-bbbb')
    .replace('1203', '4')
    .replace('1980', '345');
  const busy = H200.replace('1203', '90000');
  expect(summarizeGpus([{ gpus: parseGpus(`${busy}\n${idle}`) }])).toMatchObject({
    medianSmClockMhz: 1980,
  });
});
