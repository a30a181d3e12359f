import { hostname } from 'node:os';
import { z } from 'zod';
import { isAlive, processStat } from '../server/process-table.ts';
import type { StudyStore } from '../storage/study-store.ts';

const META = 'sweep-process';

const storedSchema = z.object({
  pid: z.number(),
  startTicks: z.number(),
  machine: z.string(),
  /** Where a detached sweep prints to; null for one on a terminal. */
  log: z.string().nullable(),
});

/** The process that sweeps a study, or did so last. */
export interface SweepProcess {
  readonly pid: number;
  readonly machine: string;
  readonly log: string | null;
  /** `elsewhere`: on another machine, where nobody looked. */
  readonly state: 'running' | 'ended' | 'elsewhere';
}

/** Notes this process as the one that sweeps the study. */
export function storeSweepProcess(store: StudyStore, studyId: number, log: string | null): void {
  store.setStudyMeta(studyId, META, {
    pid: process.pid,
    startTicks: processStat(process.pid)?.startTicks ?? 0,
    machine: hostname(),
    log,
  } satisfies z.infer<typeof storedSchema>);
}

/** Undefined for a study that no sweep has noted itself for. */
export function sweepProcess(store: StudyStore, studyId: number): SweepProcess | undefined {
  const found = storedSchema.safeParse(store.studyMeta(studyId, META));
  if (!found.success) return undefined;
  const { pid, startTicks, machine, log } = found.data;
  const here = isAlive({ pid, startTicks }) ? 'running' : 'ended';
  return { pid, machine, log, state: machine === hostname() ? here : 'elsewhere' };
}
