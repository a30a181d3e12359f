import type { Database } from 'better-sqlite3';
import type { GpuSample } from '../server/gpu-clocks.ts';
import type { StoredGpuSample } from './study-store.ts';

interface GpuRow {
  taken_at_ms: number;
  gpu_index: number;
  temperature_celsius: number | null;
  sm_clock_mhz: number | null;
  power_watts: number | null;
  memory_used_mib: number | null;
  throttle_reasons: string;
}

/** Stores what was seen of the GPUs during a measurement, a row per sample and GPU. */
export function insertGpuSamples(
  db: Database,
  measurementId: number,
  samples: readonly GpuSample[],
): void {
  // A clock that jumps back could give two samples one moment: the later one is kept.
  const insert = db.prepare(
    `INSERT OR REPLACE INTO gpu_samples VALUES (:measurementId, :takenAtMs, :index, :temperature,
       :clock, :power, :memory, :reasons)`,
  );
  for (const { takenAtMs, gpus } of samples) {
    for (const gpu of gpus) {
      insert.run({
        measurementId,
        takenAtMs: Math.round(takenAtMs),
        index: gpu.index,
        temperature: gpu.temperatureCelsius ?? null,
        clock: gpu.smClockMhz ?? null,
        power: gpu.powerWatts ?? null,
        memory: gpu.memoryUsedMib ?? null,
        reasons: JSON.stringify(gpu.throttleReasons),
      });
    }
  }
}

/** Samples of a measurement by moment and GPU; empty where none were taken. */
export function readGpuSamples(db: Database, measurementId: number): StoredGpuSample[] {
  const rows = db
    .prepare(
      `SELECT taken_at_ms, gpu_index, temperature_celsius, sm_clock_mhz, power_watts,
         memory_used_mib, throttle_reasons
       FROM gpu_samples WHERE measurement_id = ? ORDER BY taken_at_ms, gpu_index`,
    )
    .all(measurementId) as GpuRow[];
  return rows.map((row) => ({
    takenAtMs: row.taken_at_ms,
    gpuIndex: row.gpu_index,
    temperatureCelsius: row.temperature_celsius,
    smClockMhz: row.sm_clock_mhz,
    powerWatts: row.power_watts,
    memoryUsedMib: row.memory_used_mib,
    throttleReasons: JSON.parse(row.throttle_reasons) as readonly string[],
  }));
}
