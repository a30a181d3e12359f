import type { ProcessStat } from './proc-text.ts';
import { environmentOf, liveProcesses } from './process-table.ts';
import { MARKER_VARIABLE, ownerIsAlive, parseMarker } from './run-marker.ts';

/** What one launch of a sweep that is no more has left running. */
export interface Leftover {
  readonly markerValue: string;
  readonly processes: readonly ProcessStat[];
}

/**
 * Processes of launches whose sweep has ended, found by their marker. Those of a sweep that still
 * runs are left out, and so are other users' processes (their environment cannot be read).
 */
export function findLeftovers(): Leftover[] {
  const found = new Map<string, ProcessStat[]>();
  for (const process of liveProcesses()) {
    const value = environmentOf(process.pid, MARKER_VARIABLE);
    const marker = value === undefined ? undefined : parseMarker(value);
    if (marker === undefined || ownerIsAlive(marker)) continue;
    found.set(marker.value, [...(found.get(marker.value) ?? []), process]);
  }
  return [...found].map(([markerValue, processes]) => ({ markerValue, processes }));
}
