import { randomUUID } from 'node:crypto';
import { isAlive, liveProcess, type ProcessId } from './process-table.ts';

/** Variable in the environment of every process that a launch starts, however deep. */
export const MARKER_VARIABLE = 'NIGHTSWEEP_RUN';

/** Marks the processes of one launch: `OWNER_PID-OWNER_START-LAUNCH`. */
export interface RunMarker {
  readonly value: string;
  /** The tuner that started the launch. */
  readonly owner: ProcessId;
}

/** A fresh marker owned by this process. */
export function newMarker(): RunMarker {
  const startTicks = liveProcess(process.pid)?.startTicks;
  if (startTicks === undefined) throw new Error('cannot read /proc/self/stat');
  const launch = randomUUID().slice(0, 8);
  return {
    value: `${process.pid}-${startTicks}-${launch}`,
    owner: { pid: process.pid, startTicks },
  };
}

/** Reads a marker's value; undefined when this tool did not write it. */
export function parseMarker(value: string): RunMarker | undefined {
  const match = /^(\d+)-(\d+)-[0-9a-f]{8}$/.exec(value);
  if (match === null) return undefined;
  return { value, owner: { pid: Number(match[1]), startTicks: Number(match[2]) } };
}

/** Whether the sweep that started this launch still runs. */
export function ownerIsAlive({ owner }: RunMarker): boolean {
  return isAlive(owner);
}
