import { type Problems, show } from './problems.ts';
import { isConcurrency } from './profile.ts';
import { parseFraction } from './quantities.ts';
import type { BaselineExpectation, WorkloadConfig } from './study.ts';
import type { StudyFile } from './study-schema.ts';
import { readWorkload } from './workload-section.ts';

type ExpectSection = NonNullable<NonNullable<StudyFile['baseline']>['expect']>;

/** Two runs of the reference case on different days differ by up to 1 %; 3 % is beyond noise. */
const DEFAULT_TOLERANCE = '3%';

/**
 * Recorded numbers of the baseline and how they were taken: what the recorded workload leaves out
 * is as in the study. Mistakes go to `problems`.
 */
export function readExpectation(
  section: ExpectSection,
  studyWorkload: WorkloadConfig,
  file: string,
  problems: Problems,
): BaselineExpectation {
  const path = ['baseline', 'expect'];
  const workload = readWorkload(
    [...path, 'workload'],
    section.workload ?? {},
    studyWorkload,
    file,
    problems,
  );
  return {
    workload,
    throughput: section.throughput ?? 'whole-run',
    values: readValues(section.values, problems),
    toleranceFraction: readTolerance(section.tolerance ?? DEFAULT_TOLERANCE, problems),
  };
}

function readValues(
  written: Readonly<Record<string, number>>,
  problems: Problems,
): ReadonlyMap<number, number> {
  const path = ['baseline', 'expect', 'values'];
  const entries = Object.entries(written);
  if (entries.length === 0) problems.add(path, 'names no concurrency', { hint: '{1: 121.6}' });
  for (const [key, value] of entries) {
    if (!isConcurrency(key)) {
      problems.add(
        [...path, key],
        `the number of requests in flight must be a positive whole number, got ${show(key)}`,
        { at: 'key' },
      );
    }
    if (!Number.isFinite(value) || value <= 0) {
      problems.add([...path, key], `expected tokens per second above zero, got ${show(value)}`);
    }
  }
  const ascending = entries
    .map(([key, value]) => [Number(key), value] as const)
    .sort(([a], [b]) => a - b);
  return new Map(ascending);
}

function readTolerance(written: string | number, problems: Problems): number {
  const fraction = parseFraction(written);
  if (fraction !== undefined && fraction > 0 && fraction < 1) return fraction;
  problems.add(
    ['baseline', 'expect', 'tolerance'],
    `expected a percentage above 0 and below 100, got ${show(written)}`,
    { hint: 'write it as 3%' },
  );
  return 1;
}
