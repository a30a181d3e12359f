import { type KeyPath, type Problems, show } from './problems.ts';
import { parseCount, parseSeconds } from './quantities.ts';

/** A whole number of at least `minimum` (1 if absent); a mistake goes to `problems`. */
export function readCount(
  path: KeyPath,
  written: string | number,
  problems: Problems,
  minimum = 1,
): number {
  const count = parseCount(written);
  if (count !== undefined && count >= minimum) return count;
  problems.add(
    path,
    `expected a whole number of at least ${String(minimum)}, got ${show(written)}`,
  );
  return minimum;
}

/** A duration above zero, in seconds; a mistake goes to `problems`. */
export function readSeconds(path: KeyPath, written: string | number, problems: Problems): number {
  const seconds = parseSeconds(written);
  if (seconds !== undefined && seconds > 0) return seconds;
  problems.add(path, `expected a duration above zero, got ${show(written)}`, {
    hint: 'write 90s, 5m, 1h 30m, or a number of seconds',
  });
  return 1;
}
