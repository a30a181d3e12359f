import type { BenchOptions, Comparison } from '../load/bench.ts';
import type { MeasuredPoint } from '../load/point-options.ts';
import {
  benchJson,
  benchServingLine,
  benchTableHeader,
  benchTableRow,
  comparisonTable,
  latencyLine,
} from '../report/bench-table.ts';
import { markText } from '../report/marks.ts';
import type { BenchFlags } from './bench-declaration.ts';
import type { CliContext } from './context.ts';

/** Two servers side by side, once all is measured. */
export interface BenchComparison {
  readonly first: string;
  readonly second: string;
  readonly rows: readonly { readonly label: string; readonly comparison: Comparison | undefined }[];
}

/** Prints points as they end, and what there is to say of all of them. */
export interface BenchOutput {
  point(point: MeasuredPoint, options: BenchOptions): void;
  end(comparison?: BenchComparison): void;
}

/** The output in the format that was asked for; marks go to standard error in any. */
export function benchOutput(flags: BenchFlags, context: CliContext): BenchOutput {
  const output = formats[flags.format](flags, context);
  return {
    point: (point, options) => {
      output.point(point, options);
      for (const mark of point.metrics.marks) {
        context.stderr(`C=${String(point.metrics.concurrency)}: ${markText(mark).text}`);
      }
    },
    end: output.end,
  };
}

type Format = (flags: BenchFlags, context: CliContext) => BenchOutput;

const formats = {
  table: ({ latencies }, { stdout }) => {
    stdout(`${benchTableHeader()}\n`);
    return {
      point: ({ metrics }) => {
        stdout(`${benchTableRow(metrics)}\n`);
        if (latencies === true) stdout(`${latencyLine(metrics)}\n`);
      },
      end: (compared) => {
        if (compared === undefined) return;
        stdout(`\n${comparisonTable(compared.first, compared.second, compared.rows)}`);
      },
    };
  },
  /** One document: a list of points; with a second server an object with their comparison. */
  json: (_flags, { stdout }) => {
    const points: Record<string, unknown>[] = [];
    return {
      point: ({ metrics }, { baseUrl }) => {
        points.push({ server: baseUrl, ...benchJson(metrics) });
      },
      end: (compared) => {
        const document =
          compared === undefined ? points : { points, comparison: comparisonJson(compared) };
        stdout(`${JSON.stringify(document, null, 2)}\n`);
      },
    };
  },
  jsonl: ({ compare }, { stdout }) => ({
    point: ({ metrics }, { workload, baseUrl }) => {
      const tag = compare === undefined ? 'nightsweep' : baseUrl;
      const run = { backend: workload.api, dataset: workload.prompts, tag };
      stdout(`${benchServingLine(metrics, run)}\n`);
    },
    end: () => undefined,
  }),
} satisfies Record<BenchFlags['format'], Format>;

function comparisonJson({ first, second, rows }: BenchComparison): Record<string, unknown> {
  return {
    first,
    second,
    per_point: rows.map(({ label, comparison }) => ({
      load: label,
      ...(comparison === undefined
        ? { measured_on_both: false }
        : {
            measured_on_both: true,
            first_output_tokens_per_second: comparison.first,
            second_output_tokens_per_second: comparison.second,
            change_fraction:
              (comparison.ratio?.estimate ?? comparison.second / comparison.first) - 1,
            change_fraction_low: comparison.ratio === undefined ? null : comparison.ratio.low - 1,
            change_fraction_high: comparison.ratio === undefined ? null : comparison.ratio.high - 1,
            rounds: comparison.rounds,
          }),
    })),
  };
}
