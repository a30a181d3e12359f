/** Values for the `%` specifiers of a unit, by letter: what only the target can know (`H`, `m`). */
export type Specifiers = Readonly<Record<string, string>>;

/** Fixed values for the system manager, as systemd.unit(5) lists them. */
const SYSTEM_SPECIFIERS: Specifiers = {
  '%': '%',
  t: '/run',
  S: '/var/lib',
  C: '/var/cache',
  L: '/var/log',
  E: '/etc',
  T: '/tmp',
  V: '/var/tmp',
  u: 'root',
  U: '0',
  g: 'root',
  G: '0',
  h: '/root',
  s: '/bin/sh',
};

/** Letters systemd 252 knows; any other stays as written. */
const KNOWN = new Set('%aAbBCdEfgGhHiIjJlLmMnNopPqsStTuUvVwWyY');

/** Specifiers that a unit's name gives: `%n`, `%N`, `%p`, `%i`, `%j`. */
export function nameSpecifiers(unitName: string): Specifiers {
  const stem = unitName.replace(/\.[a-z]+$/, '');
  const at = stem.indexOf('@');
  const prefix = at < 0 ? stem : stem.slice(0, at);
  return {
    n: unitName,
    N: stem,
    p: prefix,
    i: at < 0 ? '' : stem.slice(at + 1),
    j: prefix.slice(prefix.lastIndexOf('-') + 1),
  };
}

export interface ExpandedSpecifiers {
  readonly text: string;
  /** Specifiers whose value is not known here; they stand as written in `text`. */
  readonly unresolved: readonly string[];
}

/** Replaces `%x` in a word. Letters that systemd does not know stay, as systemd leaves them. */
export function expandSpecifiers(text: string, given: Specifiers): ExpandedSpecifiers {
  const unresolved: string[] = [];
  const expanded = text.replace(/%(.)/gs, (whole, letter: string) => {
    const value = given[letter] ?? SYSTEM_SPECIFIERS[letter];
    if (value !== undefined) return value;
    if (KNOWN.has(letter)) unresolved.push(whole);
    return whole;
  });
  return { text: expanded, unresolved };
}
