import { readCount, readFraction, readSeconds } from './number-fields.ts';
import type { Problems } from './problems.ts';
import type { MeasureConfig, StartConfig } from './study.ts';
import type { StudyFile } from './study-schema.ts';

/**
 * Model loading and graph capture print progress all the time, so five minutes of silence are a
 * hang (field report A10); half an hour in all is the usual `TimeoutStartSec` of such units. The
 * driver gives memory back within seconds; 30 s and more were seen (SGLang 0.5.23, network.py:62-67).
 */
const DEFAULT_START = { stall: '5m', total: '30m', stop: '60s', gpu_release: '2m' };

/** A request of 1000 tokens takes seconds to a minute: these end hangs, not slow servers. */
const DEFAULT_MEASURE = { request_timeout: '10m', point_timeout: '30m', stall: '60s' };

/**
 * A server that fails half of its requests, or has 30 % of the baseline's speed, is not worth
 * waiting for (field reports C17, D6).
 */
const DEFAULT_SHARES = { max_failures: '50%', give_up_below: '30%' };

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
    gpuReleaseSeconds: seconds('gpu_release'),
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
  const share = (key: keyof typeof DEFAULT_SHARES) =>
    readFraction(['measure', key], section[key] ?? DEFAULT_SHARES[key], problems);
  return {
    repeats: count('repeats', 1),
    finalists: count('finalists', 3, 0),
    launches: count('launches', 13),
    warmUp: readWarmUp(section.warm_up ?? {}, problems),
    ...(section.load_from === undefined ? {} : { loadFrom: section.load_from }),
    requestTimeoutSeconds: seconds('request_timeout'),
    pointTimeoutSeconds: seconds('point_timeout'),
    stallSeconds: seconds('stall'),
    maxFailureFraction: share('max_failures'),
    giveUpBelowFraction: share('give_up_below'),
    dropLosers: section.drop_losers ?? true,
    outputCheck: readOutputCheck(section.output_check ?? {}, problems),
  };
}

type MeasureSection = NonNullable<StudyFile['measure']>;

function readWarmUp(
  { requests, limit }: NonNullable<MeasureSection['warm_up']>,
  problems: Problems,
): MeasureConfig['warmUp'] {
  const at = (key: string) => ['measure', 'warm_up', key];
  return {
    ...(requests !== undefined && { requests: readCount(at('requests'), requests, problems, 0) }),
    ...(limit !== undefined && { limitSeconds: readSeconds(at('limit'), limit, problems) }),
  };
}

function readOutputCheck(
  { misses, similarity }: NonNullable<MeasureSection['output_check']>,
  problems: Problems,
): MeasureConfig['outputCheck'] {
  const at = (key: string) => ['measure', 'output_check', key];
  return {
    ...(misses !== undefined && { missesAllowed: readCount(at('misses'), misses, problems, 0) }),
    ...(similarity !== undefined && {
      minSimilarity: readFraction(at('similarity'), similarity, problems),
    }),
  };
}
