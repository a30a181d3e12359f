import type { Mark } from '../metrics/point-metrics.ts';
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
    const marks = here.flatMap((metrics) => metrics.marks);
    const bound = marks.find(({ code }) => code === 'server-bound');
    const limits = LIMITS.flatMap((limit) => marks.find(({ code }) => code === limit) ?? []);
    return { concurrency, decoding, bound, limits };
  });
  if (rows.length === 0) return [];
  const known = rows.map((row) => `C=${row.concurrency}: ${row.decoding.toFixed(1)}`).join(', ');
  return [
    `trial ${trial}, requests decoding at a time: ${known}`,
    ...limitLines(rows),
    ...boundLines(rows),
  ];
}

/** Limits that the server itself reports: what a concurrency above them measures is something else. */
const LIMITS = ['above-running-limit', 'state-slots', 'eager-decode', 'kv-pool-too-small'] as const;

/** One line for each concurrency and limit, with the flag that would lift it (field reports B1, B12). */
function limitLines(
  rows: readonly { readonly concurrency: number; readonly limits: readonly Mark[] }[],
): readonly string[] {
  return rows.flatMap(({ concurrency, limits }) =>
    limits.map((mark) => {
      const { text, advice } = markText(mark);
      return `  C=${concurrency}: ${text}${advice === undefined ? '' : `; ${advice}`}`;
    }),
  );
}

/** Decoding concurrencies this near each other are one and the same limit of the server. */
const SAME_LIMIT_RATIO = 1.25;

interface BoundRow {
  readonly concurrency: number;
  readonly decoding: number;
  readonly bound: Mark | undefined;
}

/** One line for all concurrencies that the same limit held back, and one piece of advice. */
function boundLines(rows: readonly BoundRow[]): readonly string[] {
  const held = rows.flatMap(({ bound, ...row }) => (bound === undefined ? [] : { ...row, bound }));
  const figures = held.map(({ decoding }) => decoding);
  const isOneLimit = Math.max(...figures) <= SAME_LIMIT_RATIO * Math.min(...figures);
  const groups = isOneLimit ? [held] : held.map((row) => [row]);
  const texts = groups.flatMap((group) => {
    const [first] = group;
    const decodingConcurrency = mean(group.map(({ decoding }) => decoding));
    if (first === undefined || decodingConcurrency === undefined) return [];
    const { text, advice } = markText({
      ...first.bound,
      facts: { ...first.bound.facts, decodingConcurrency },
    });
    const where = list(group.map(({ concurrency }) => concurrency));
    return { line: `  C=${where}: ${text}`, advice };
  });
  const advice = texts.at(-1)?.advice;
  return [...texts.map(({ line }) => line), ...(advice === undefined ? [] : [`  ${advice}`])];
}
