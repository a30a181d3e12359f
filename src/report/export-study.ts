import type { ExportRecord, StudyRecords } from './study-records.ts';

/** Writes a study's records as text. */
type ExportFormat = (records: StudyRecords) => string;

/** Add a format here; `--format` takes its choices from the keys. */
export const exportFormats = {
  json: exportJson,
  jsonl: exportJsonl,
  csv: exportCsv,
} satisfies Record<string, ExportFormat>;

export type ExportFormatName = keyof typeof exportFormats;

/** One valid JSON document (field report D17). */
function exportJson(records: StudyRecords): string {
  return `${JSON.stringify(records, null, 2)}\n`;
}

/** One JSON object per line, `record` says what it is. */
function exportJsonl({ study, ...groups }: StudyRecords): string {
  const lines = [
    { record: 'study', ...study },
    ...groups.trials.map((trial) => ({ record: 'trial', ...trial })),
    ...groups.launches.map((launch) => ({ record: 'launch', ...launch })),
    ...groups.measurements.map((measurement) => ({ record: 'measurement', ...measurement })),
    ...groups.requests.map((request) => ({ record: 'request', ...request })),
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * One row per measurement, and one for each trial without any, so that failures are in it too.
 * Quoted as in RFC 4180; objects and lists are JSON; unknown is empty.
 */
function exportCsv({ trials, measurements }: StudyRecords): string {
  const rows = trials.flatMap((trial) => {
    const own = measurements.filter((measurement) => measurement['trial'] === trial['trial']);
    return own.length === 0 ? [trial] : own.map((m) => ({ ...trial, ...flat(m) }));
  });
  const columns = [...new Set([...rows.flatMap((row) => Object.keys(row))])];
  const lines = [columns, ...rows.map((row: ExportRecord) => columns.map((name) => row[name]))];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/** Distributions as columns of their own: `ttft_ms.p99`. Other objects stay whole. */
function flat(record: ExportRecord): ExportRecord {
  const entries = Object.entries(record).flatMap(([key, value]) => {
    if (!key.endsWith('_ms') || typeof value !== 'object' || value === null) return [[key, value]];
    if (Array.isArray(value)) return [[key, value]];
    return Object.entries(value).map(([inner, figure]: [string, unknown]) => [
      `${key}.${inner}`,
      figure,
    ]);
  });
  return Object.fromEntries(entries) as ExportRecord;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
