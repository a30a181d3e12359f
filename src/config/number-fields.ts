import { type KeyPath, type Problems, show } from './problems.ts';
import { parseCount, parseFraction, parseSeconds } from './quantities.ts';

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

/** A share from 0 to 1, written `50%` or `0.5`; a mistake goes to `problems`. */
export function readFraction(path: KeyPath, written: string | number, problems: Problems): number {
  const fraction = parseFraction(written);
  if (fraction !== undefined && fraction >= 0 && fraction <= 1) return fraction;
  problems.add(path, `expected a share from 0% to 100%, got ${show(written)}`, {
    hint: 'write it as 50%',
  });
  return 0;
}
