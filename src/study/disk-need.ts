import type { Study } from '../config/study.ts';
import { pointRequests } from './point-workload.ts';

/** A stored request and its share of the index: 193 bytes for one of SGLang's, 400 with an error. */
const REQUEST_BYTES = 400;
/** A stored measurement without its requests: metrics and conditions as JSON. */
const MEASUREMENT_BYTES = 8 * 1024;
/** GPU samples of a measurement: 60 bytes every 5 s of three minutes for each of 8 GPUs. */
const GPU_SAMPLE_BYTES = 20 * 1024;
/** A stored launch: argv, environment, effective configuration, 60 lines of log. */
const LAUNCH_BYTES = 64 * 1024;
/** SGLang prints a line per request and per 40 decode steps: a few MiB in half an hour. */
const LOG_BYTES = 4 * 1024 * 1024;
/** Study, help text and unit; report and recommendation. */
const STUDY_BYTES = 4 * 1024 * 1024;

/** Below this nothing more is started: the write-ahead log alone may need 16 MiB. */
export const LEAST_FREE_BYTES = 64 * 1024 * 1024;

/** Bytes that a sweep writes, generously. */
export interface DiskNeed {
  readonly databaseBytes: number;
  readonly logBytes: number;
}

/** What `launches` launches of a study write to the disk. */
export function diskNeed({ profile, workload, measure }: Study, launches: number): DiskNeed {
  const points = [...profile.keys()].map(
    (concurrency) =>
      MEASUREMENT_BYTES + GPU_SAMPLE_BYTES + REQUEST_BYTES * pointRequests(workload, concurrency),
  );
  const perLaunch = LAUNCH_BYTES + measure.repeats * points.reduce((sum, bytes) => sum + bytes, 0);
  return { databaseBytes: STUDY_BYTES + launches * perLaunch, logBytes: launches * LOG_BYTES };
}
