import { readCount, readSeconds } from './number-fields.ts';
import type { Problems } from './problems.ts';
import type { MeasureConfig, StartConfig } from './study.ts';
import type { StudyFile } from './study-schema.ts';

/**
 * Model loading and graph capture print progress all the time, so five minutes of silence are a
 * hang (field report A10); half an hour in all is the usual `TimeoutStartSec` of such units.
 */
const DEFAULT_START = { stall: '5m', total: '30m', stop: '60s' };

/** A request of 1000 tokens takes seconds to a minute: these end hangs, not slow servers. */
const DEFAULT_MEASURE = { request_timeout: '10m', point_timeout: '30m', stall: '60s' };

/** How launches are given up; mistakes go to `problems`. */
export function readStart(
  section: NonNullable<StudyFile['start']>,
  problems: Problems,
): StartConfig {
  const seconds = (key: keyof typeof DEFAULT_START) =>
    readSeconds(['start', key], section[key] ?? DEFAULT_START[key], problems);
  return {
    stallSeconds: seconds('stall'),
    totalSeconds: seconds('total'),
    stopSeconds: seconds('stop'),
  };
}

/** How measurements are taken and given up; mistakes go to `problems`. */
export function readMeasure(
  section: NonNullable<StudyFile['measure']>,
  problems: Problems,
): MeasureConfig {
  const seconds = (key: keyof typeof DEFAULT_MEASURE) =>
    readSeconds(['measure', key], section[key] ?? DEFAULT_MEASURE[key], problems);
  const count = (key: 'repeats' | 'finalists' | 'launches', fallback: number, minimum = 1) =>
    readCount(['measure', key], section[key] ?? fallback, problems, minimum);
  const warmUp = section.warm_up?.requests;
  return {
    repeats: count('repeats', 1),
    finalists: count('finalists', 3, 0),
    launches: count('launches', 13),
    warmUp:
      warmUp === undefined
        ? {}
        : { requests: readCount(['measure', 'warm_up', 'requests'], warmUp, problems, 0) },
    requestTimeoutSeconds: seconds('request_timeout'),
    pointTimeoutSeconds: seconds('point_timeout'),
    stallSeconds: seconds('stall'),
  };
}
