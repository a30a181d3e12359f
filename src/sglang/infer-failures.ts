import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { formatValue, numericValue, sameValue } from '../search-space/values.ts';
import type { FailureCause } from './failure-causes.ts';

/** A launch that failed, as far as inference needs it. */
export interface SeenFailure {
  readonly trial: number;
  readonly assignment: Assignment;
  readonly cause: Pick<FailureCause, 'code' | 'kind' | 'message' | 'directions'>;
}

/** A failure that is expected without a launch, and shown as inferred. */
export interface InferredFailure {
  readonly code: string;
  /** Trials it is inferred from. */
  readonly fromTrials: readonly number[];
  /** `mem-fraction-static 0.85 was too high in trial 3`. */
  readonly reason: string;
}

/** Launches with the same cause before it is inferred for others (field report B7). */
const ENOUGH = 2;

function valueOf(assignment: Assignment, name: string): FlagValue {
  return assignment[name] ?? null;
}

function differing(a: Assignment, b: Assignment): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => !sameValue(valueOf(a, name), valueOf(b, name)));
}

/** A value at or beyond one that was too high or too low, all else equal (field report A14). */
function beyondLimit(candidate: Assignment, seen: SeenFailure): InferredFailure | undefined {
  const others = differing(candidate, seen.assignment);
  for (const { flag, value } of seen.cause.directions) {
    const tried = numericValue(valueOf(seen.assignment, flag));
    const wanted = numericValue(valueOf(candidate, flag));
    if (tried === undefined || wanted === undefined) continue;
    if (others.some((name) => name !== flag)) continue;
    if (value === 'too-high' ? wanted < tried : wanted > tried) continue;
    const shown = `${flag} ${formatValue(tried)} was ${value.replace('-', ' ')}`;
    const reason = `${shown} in trial ${seen.trial}`;
    return { code: seen.cause.code, fromTrials: [seen.trial], reason };
  }
  return undefined;
}

/** Same text but for numbers, addresses and quoted values that differ from launch to launch. */
function signature({ code, message }: SeenFailure['cause']): string {
  return `${code} ${message.replaceAll(/'[^']*'|0x[\da-f]+|\d+(?:\.\d+)?/gi, '#')}`;
}

/** Parameters an error text names, with dashes or underscores. */
function namedIn(message: string, assignment: Assignment): string[] {
  const text = message.replaceAll('_', '-');
  return Object.keys(assignment).filter((name) => text.includes(name));
}

/**
 * The flag values that failures of one cause have in common: only those the error names, where
 * it names any (the others may be there by chance).
 */
function sharedValues(failures: readonly SeenFailure[]): Assignment {
  const [first, ...rest] = failures;
  if (first === undefined) return {};
  const shared = Object.keys(first.assignment).filter((name) =>
    rest.every(({ assignment }) =>
      sameValue(valueOf(assignment, name), valueOf(first.assignment, name)),
    ),
  );
  const named = namedIn(first.cause.message, first.assignment);
  const relevant = named.length === 0 ? shared : shared.filter((name) => named.includes(name));
  return Object.fromEntries(relevant.map((name) => [name, valueOf(first.assignment, name)]));
}

function contains(assignment: Assignment, part: Assignment): boolean {
  return Object.entries(part).every(([name, value]) => sameValue(valueOf(assignment, name), value));
}

function sameCause(
  candidate: Assignment,
  failures: readonly SeenFailure[],
  started: readonly Assignment[],
): InferredFailure | undefined {
  for (const [i, first] of failures.entries()) {
    for (const second of failures.slice(i + 1)) {
      if (signature(first.cause) !== signature(second.cause)) continue;
      const shared = sharedValues([first, second]);
      // Nothing in common, or values that also started: they are not what failed.
      if (Object.keys(shared).length === 0 || started.some((one) => contains(one, shared)))
        continue;
      if (!contains(candidate, shared)) continue;
      const shown = Object.entries(shared).map(([name, value]) => `${name} ${formatValue(value)}`);
      const reason = `${shown.join(' with ')} failed in trials ${first.trial} and ${second.trial}: ${first.cause.message}`;
      return { code: first.cause.code, fromTrials: [first.trial, second.trial], reason };
    }
  }
  return undefined;
}

/**
 * Whether a candidate is expected to fail like launches seen before: its value lies beyond one that
 * was too high or too low, or it holds the flag values that failed twice with the same error and
 * never started. Undefined: launch it. Only `infeasible` causes count; environment faults say
 * nothing about flags.
 *
 * @param started assignments of launches that became ready.
 */
export function inferFailure(
  candidate: Assignment,
  failures: readonly SeenFailure[],
  started: readonly Assignment[],
): InferredFailure | undefined {
  const infeasible = failures.filter(({ cause }) => cause.kind === 'infeasible');
  for (const seen of infeasible) {
    const found = beyondLimit(candidate, seen);
    if (found !== undefined) return found;
  }
  return infeasible.length < ENOUGH ? undefined : sameCause(candidate, infeasible, started);
}
