import type { Verdict } from './check-sweep.ts';

/** Injected failures against what the sweeps found, with counts; wrong ones are marked with `!`. */
export function confusionTable(verdicts: readonly Verdict[]): string {
  const rows = new Map<string, Map<string, { count: number; right: boolean }>>();
  for (const { injected, found, right } of verdicts) {
    const row = rows.get(injected) ?? new Map<string, { count: number; right: boolean }>();
    rows.set(injected, row);
    row.set(found, { count: (row.get(found)?.count ?? 0) + 1, right });
  }
  return [...rows]
    .sort(([a], [b]) => a.localeCompare(b))
    .flatMap(([injected, row]) =>
      [...row].map(
        ([found, { count, right }]) =>
          `${injected.padEnd(36)}${right ? ' ' : '!'} ${found.padEnd(46)}${String(count).padStart(6)}`,
      ),
    )
    .join('\n');
}
