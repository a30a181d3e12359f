import { UserError } from '../../errors.ts';
import type { ImportedPoint } from './imported-point.ts';

/** Columns by the words of their heading; the reference script prints them in this order. */
const COLUMNS = {
  concurrency: /^(c|conc|concurrency)$/i,
  outputTokensPerSecond: /^agg/i,
  perRequestTokensPerSecond: /^per[- ]?req/i,
  outputTokens: /^tokens$/i,
  durationSeconds: /^wall/i,
  completed: /^ok$/i,
} as const;

type Column = keyof typeof COLUMNS;

/** Unknown values of a column that was not measured. */
const UNKNOWN = new Set(['', '-', '–', '?', 'n/a', 'na']);

/**
 * Reads the table that the reference benchmark script prints; undefined when the text has none.
 *
 * Lines around the table are ignored, `-` is an unknown value, and several tables in one text are
 * repeats. A row that is printed twice word for word is one measurement.
 *
 * @throws UserError naming the line of a row that cannot be read.
 */
export function parsePrintedTable(
  text: string,
  source: string,
): readonly ImportedPoint[] | undefined {
  let columns: ReadonlyMap<Column, number> | undefined;
  const rows = new Map<string, ImportedPoint>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const cells = line.split('|').map((cell) => cell.trim());
    const heading = headingOf(cells);
    if (heading !== undefined) {
      columns = heading;
      continue;
    }
    // Prose and rules have no cells; a row of a table begins with its number in flight.
    if (columns === undefined || cells.length < 2 || !/^\d+$/.test(cells[0] ?? '')) continue;
    rows.set(cells.join('|'), pointOf(cells, columns, `${source}:${index + 1}`));
  }
  return columns === undefined ? undefined : [...rows.values()];
}

function headingOf(cells: readonly string[]): ReadonlyMap<Column, number> | undefined {
  const found = new Map<Column, number>();
  for (const [name, pattern] of Object.entries(COLUMNS) as [Column, RegExp][]) {
    const at = cells.findIndex((cell) => pattern.test(cell));
    if (at >= 0) found.set(name, at);
  }
  return found.get('concurrency') === 0 && found.has('outputTokensPerSecond') ? found : undefined;
}

function pointOf(
  cells: readonly string[],
  columns: ReadonlyMap<Column, number>,
  place: string,
): ImportedPoint {
  const value = (column: Column): number | undefined => {
    const at = columns.get(column);
    const cell = at === undefined ? '' : (cells[at] ?? '');
    if (UNKNOWN.has(cell.toLowerCase())) return undefined;
    const number = Number(cell.replaceAll(',', ''));
    if (Number.isFinite(number) && number >= 0) return number;
    throw new UserError(`${place}: "${cell}" is not a number`, {
      hint: 'an unknown value is written as -',
    });
  };
  const concurrency = value('concurrency') ?? 0;
  const outputTokensPerSecond = value('outputTokensPerSecond') ?? 0;
  if (concurrency < 1 || outputTokensPerSecond <= 0) {
    throw new UserError(`${place}: a measurement needs its number in flight and its throughput`, {
      hint: 'leave out the rows of failed runs: no speed was measured there',
    });
  }
  const completed = value('completed');
  return {
    concurrency,
    outputTokensPerSecond,
    ...optional('perRequestTokensPerSecond', value('perRequestTokensPerSecond')),
    ...optional('outputTokens', value('outputTokens')),
    ...optional('durationSeconds', value('durationSeconds')),
    ...optional('completed', completed),
    ...optional('failed', failedOf(concurrency, completed)),
    // The script sums the server's own completion_tokens.
    tokensFrom: 'server',
  };
}

/** The script sends max(4, 2 x concurrency) requests and prints only those that went well. */
function failedOf(concurrency: number, completed: number | undefined): number | undefined {
  if (completed === undefined) return undefined;
  return Math.max(0, Math.max(4, 2 * concurrency) - completed);
}

function optional<K extends string>(name: K, value: number | undefined): { [key in K]?: number } {
  return value === undefined ? {} : ({ [name]: value } as { [key in K]: number });
}
