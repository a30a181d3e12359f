import { mean } from '../metrics/statistics.ts';
import { list } from './figures.ts';
import { markText } from './marks.ts';
import type { TrialPoint } from './study-points.ts';

/**
 * How many requests were decoding at a time (aggregate over per-request speed) at each
 * concurrency of a trial, and where the server held the rest back; empty when it is not known.
 */
export function decodingLines(trial: number, points: readonly TrialPoint[]): readonly string[] {
  const own = points.filter((point) => point.trial === trial).map(({ metrics }) => metrics);
  const concurrencies = [...new Set(own.map(({ concurrency }) => concurrency))].sort(
    (a, b) => a - b,
  );
  const rows = concurrencies.flatMap((concurrency) => {
    const here = own.filter((metrics) => metrics.concurrency === concurrency);
    const decoding = mean(here.flatMap((metrics) => metrics.decodingConcurrency ?? []));
    if (decoding === undefined) return [];
    const bound = here.flatMap(({ marks }) => marks).find(({ code }) => code === 'server-bound');
    return { concurrency, decoding, bound };
  });
  if (rows.length === 0) return [];
  const known = rows.map((row) => `C=${row.concurrency}: ${row.decoding.toFixed(1)}`).join(', ');
  return [`trial ${trial}, requests decoding at a time: ${known}`, ...boundLines(rows)];
}

/** One line for all concurrencies at which the server was the limit: it is one limit. */
function boundLines(
  rows: readonly {
    readonly concurrency: number;
    readonly decoding: number;
    readonly bound: Parameters<typeof markText>[0] | undefined;
  }[],
): readonly string[] {
  const held = rows.filter((row) => row.bound !== undefined);
  const first = held[0]?.bound;
  const decodingConcurrency = mean(held.map(({ decoding }) => decoding));
  if (first === undefined || decodingConcurrency === undefined) return [];
  const { text, advice } = markText({ ...first, facts: { ...first.facts, decodingConcurrency } });
  const where = list(held.map(({ concurrency }) => concurrency));
  return [`  C=${where}: ${text}`, ...(advice === undefined ? [] : [`  ${advice}`])];
}
