/** One GPU as `nvidia-smi` describes it. Fields that a driver does not tell are undefined. */
export interface GpuState {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly driverVersion: string;
  /** `9.0` for an H200. */
  readonly computeCapability: string | undefined;
  readonly memoryTotalMib: number | undefined;
  readonly memoryUsedMib: number | undefined;
  readonly temperatureCelsius: number | undefined;
  readonly smClockMhz: number | undefined;
  readonly powerWatts: number | undefined;
  /** Reasons for which the clock is held back now, such as `sw_power_cap`; idle is none. */
  readonly throttleReasons: readonly string[];
}

/** A process that uses a GPU. */
export interface GpuProcess {
  readonly gpuUuid: string;
  readonly pid: number;
  readonly name: string;
  readonly memoryMib: number | undefined;
}

/** Bits of `clocks_event_reasons.active` (nvml.h, nvmlClocksEventReason*) that slow a server. */
const throttleBits: readonly (readonly [number, string])[] = [
  [0x2, 'applications_clocks_setting'],
  [0x4, 'sw_power_cap'],
  [0x8, 'hw_slowdown'],
  [0x10, 'sync_boost'],
  [0x20, 'sw_thermal_slowdown'],
  [0x40, 'hw_thermal_slowdown'],
  [0x80, 'hw_power_brake_slowdown'],
  [0x100, 'display_clock_setting'],
];

const GPU_FIELDS = [
  'index',
  'uuid',
  'name',
  'driver_version',
  'compute_cap',
  'memory.total',
  'memory.used',
  'temperature.gpu',
  'clocks.sm',
  'power.draw',
  // The old name of clocks_event_reasons: known to every driver so far.
  'clocks_throttle_reasons.active',
];

/** The words that print {@link parseGpus}'s input. */
export const GPU_QUERY = [
  'nvidia-smi',
  `--query-gpu=${GPU_FIELDS.join(',')}`,
  '--format=csv,noheader,nounits',
];

/** The words that print {@link parseGpuProcesses}'s input. */
export const PROCESS_QUERY = [
  'nvidia-smi',
  '--query-compute-apps=gpu_uuid,pid,used_memory,process_name',
  '--format=csv,noheader,nounits',
];

/** Reads one GPU a line; lines that are none (warnings of the driver) are skipped. */
export function parseGpus(csv: string): GpuState[] {
  return csv.split('\n').flatMap((line): GpuState[] => {
    const fields = line.split(',').map((field) => field.trim());
    const [index, uuid, name, driverVersion, capability, total, used, heat, clock, power, bits] =
      fields;
    if (!/^\d+$/.test(index ?? '') || uuid === undefined || name === undefined) return [];
    return [
      {
        index: Number(index),
        uuid,
        name,
        driverVersion: driverVersion ?? '',
        computeCapability: /^\d+\.\d+$/.test(capability ?? '') ? capability : undefined,
        memoryTotalMib: numberOf(total),
        memoryUsedMib: numberOf(used),
        temperatureCelsius: numberOf(heat),
        smClockMhz: numberOf(clock),
        powerWatts: numberOf(power),
        throttleReasons: reasonsOf(bits),
      },
    ];
  });
}

/** Reads one process a line. Its name comes last, as it may hold commas. */
export function parseGpuProcesses(csv: string): GpuProcess[] {
  return csv.split('\n').flatMap((line): GpuProcess[] => {
    const match = /^\s*(?<uuid>GPU-[^,]+),\s*(?<pid>\d+),\s*(?<memory>[^,]*),\s*(?<name>.*)$/.exec(
      line,
    );
    const { uuid, pid, memory, name } = match?.groups ?? {};
    if (uuid === undefined || pid === undefined) return [];
    return [
      { gpuUuid: uuid, pid: Number(pid), name: (name ?? '').trim(), memoryMib: numberOf(memory) },
    ];
  });
}

/** `[N/A]`, `[Not Supported]` and `[Unknown Error]` are undefined. */
function numberOf(text: string | undefined): number | undefined {
  const value = Number(text?.trim());
  return text === undefined || text.trim() === '' || !Number.isFinite(value) ? undefined : value;
}

function reasonsOf(text: string | undefined): string[] {
  const bits = Number(text);
  if (!Number.isFinite(bits)) return [];
  return throttleBits.filter(([bit]) => (bits & bit) !== 0).map(([, name]) => name);
}
