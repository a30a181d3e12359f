import { UserError } from '../../errors.ts';
import type { PointMetrics } from '../../metrics/point-metrics.ts';
import { parseBenchServing } from './bench-serving.ts';
import { type ImportedPoint, importedMetrics } from './imported-point.ts';
import { parsePrintedTable } from './printed-table.ts';

/** Reads one kind of file; undefined when the text is of another kind. */
type ImportFormat = (text: string, source: string) => readonly ImportedPoint[] | undefined;

/** Add a format here: the first that recognises the text reads it. */
const importFormats = {
  'bench-serving': parseBenchServing,
  'printed-table': parsePrintedTable,
} satisfies Record<string, ImportFormat>;

/**
 * The measurements in a file of another benchmark, in file order: the table that the reference
 * script prints, or JSON lines of bench_serving. `source` (the file's name) stands in errors and
 * in the mark that each measurement carries.
 *
 * @throws UserError when the text is neither, or one of its rows cannot be read.
 */
export function importMeasurements({
  text,
  source,
}: {
  readonly text: string;
  readonly source: string;
}): readonly PointMetrics[] {
  for (const parse of Object.values<ImportFormat>(importFormats)) {
    const points = parse(text, source);
    if (points === undefined) continue;
    if (points.length === 0) throw new UserError(`${source}: the table has no rows`);
    return points.map((point) => importedMetrics(point, source));
  }
  throw new UserError(`${source} holds no measurements that can be read`, {
    hint: 'expected a table headed "C | Agg tok/s | ...", or JSON lines of bench_serving',
  });
}
