import type { StudyIdentity } from './study-store.ts';

/** One thing in which the given study differs from the stored one. */
export interface IdentityDifference {
  /** What differs, e.g. `workload.output_tokens` or `profile`. */
  readonly field: string;
  readonly stored: string;
  readonly given: string;
  /**
   * `forbidden`: old and new measurements cannot be compared, so it is another study.
   * `allowed`: it changes what is measured next or how it is ranked.
   */
  readonly effect: 'forbidden' | 'allowed';
}

/**
 * What changed since a study was stored, forbidden differences first; empty when nothing did
 * (field report D9). Search spaces are not compared: trials are merged by assignment.
 *
 * What was unknown when the study was stored (SGLang's version before the first launch) may
 * become known. An unknown given version counts as unchanged.
 */
export function compareIdentity(
  stored: StudyIdentity,
  given: StudyIdentity,
): readonly IdentityDifference[] {
  const differences = [
    ...compareValues('workload', stored.workload, given.workload, 'forbidden'),
    ...compareVersions(stored.sglangVersion, given.sglangVersion),
    ...compareValues('baseline argv', stored.baselineArgv, given.baselineArgv, 'forbidden'),
    ...compareUnits(stored.unitText, given.unitText),
    ...compareValues('seed', stored.seed, given.seed, 'forbidden'),
    ...compareValues('profile', profileText(stored), profileText(given), 'allowed'),
    ...compareValues('score', stored.scoreKind, given.scoreKind, 'allowed'),
    ...compareValues('limits', stored.limits, given.limits, 'allowed'),
  ];
  return differences.sort(
    (a, b) => Number(a.effect === 'allowed') - Number(b.effect === 'allowed'),
  );
}

function compareVersions(stored: string | null, given: string | null): IdentityDifference[] {
  if (stored === null || given === null) return [];
  return compareValues('SGLang version', stored, given, 'forbidden');
}

/** Units are long: the first line that differs says more than both texts. */
function compareUnits(stored: string, given: string): IdentityDifference[] {
  if (stored === given) return [];
  const [old, now] = [stored.split('\n'), given.split('\n')];
  const longer = Math.max(old.length, now.length);
  const line = Array.from({ length: longer }, (_, i) => i).find((i) => old[i] !== now[i]) ?? 0;
  return [
    {
      field: `production unit, line ${line + 1}`,
      stored: old[line] ?? '(nothing)',
      given: now[line] ?? '(nothing)',
      effect: 'forbidden',
    },
  ];
}

function compareValues(
  field: string,
  stored: unknown,
  given: unknown,
  effect: IdentityDifference['effect'],
): IdentityDifference[] {
  if (isRecord(stored) && isRecord(given)) {
    const names = [...new Set([...Object.keys(stored), ...Object.keys(given)])].sort();
    return names.flatMap((name) =>
      compareValues(`${field}.${name}`, stored[name], given[name], effect),
    );
  }
  const [before, now] = [show(stored), show(given)];
  return before === now ? [] : [{ field, stored: before, given: now, effect }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value === undefined) return '(nothing)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function profileText({ profile }: StudyIdentity): string {
  return [...profile].map(([concurrency, weight]) => `${concurrency}:${weight}`).join(',');
}
