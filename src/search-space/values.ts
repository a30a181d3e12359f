import type { FlagValue } from './assignment.ts';

/**
 * Whether two values start the same server: compared as they would stand in the command, so that
 * 0.85 equals "0.85", and `false` equals an absent flag.
 */
export function sameValue(a: FlagValue, b: FlagValue): boolean {
  return valueIdentity(a) === valueIdentity(b);
}

/** Equal for values that `sameValue` calls the same; not for showing. */
export function valueIdentity(value: FlagValue): string {
  if (value === null || value === false) return 'absent';
  if (value === true) return 'present';
  if (typeof value === 'object') return `words ${JSON.stringify(value.map(String))}`;
  return `word ${String(value)}`;
}

/** A value as a study file writes it: `~` for an absent flag, `[1, 2]` for several values. */
export function formatValue(value: FlagValue): string {
  if (value === null) return '~';
  if (typeof value === 'object') return `[${value.map(formatScalar).join(', ')}]`;
  return formatScalar(value);
}

function formatScalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

/** The number a value stands for; undefined when it stands for none (absent, words, a list). */
export function numericValue(value: FlagValue): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** What a process gets as an environment variable of this value; undefined: it has none. */
export function variableText(value: FlagValue): string | undefined {
  if (value === null || value === false) return undefined;
  if (value === true) return '1';
  return typeof value === 'object' ? value.join(' ') : String(value);
}
