import type { Comparison } from '../load/bench.ts';
import type { Distribution, PointMetrics } from '../metrics/point-metrics.ts';
import { signedPercent } from './figures.ts';

/** Widths of the reference benchmark's columns. */
const COLUMNS = [
  { title: 'C', width: 4 },
  { title: 'Agg tok/s', width: 10 },
  { title: 'Per-req tok/s', width: 14 },
  { title: 'Tokens', width: 8 },
  { title: 'Wall(s)', width: 8 },
  { title: 'Ok', width: 4 },
] as const;

/** Heading and rule of the table, without line ends. */
export function benchTableHeader(): string {
  const heading = row(COLUMNS.map(({ title }) => title));
  return `${heading}\n${'-'.repeat(65)}`;
}

/**
 * One line per point in the exact format of the reference benchmark: whole-run tokens per second
 * over all requests, decode speed of one request, output tokens, duration, completed requests.
 */
export function benchTableRow(metrics: PointMetrics): string {
  return row([
    String(metrics.concurrency),
    metrics.wholeRunTokensPerSecond.toFixed(1),
    metrics.perRequestTokensPerSecond?.toFixed(1) ?? '-',
    String(metrics.outputTokens),
    metrics.durationSeconds.toFixed(1),
    String(metrics.completed),
  ]);
}

/** The whole table; ends with a line end. */
export function benchTable(points: readonly PointMetrics[]): string {
  return `${[benchTableHeader(), ...points.map(benchTableRow)].join('\n')}\n`;
}

/** Latencies of a point in ms with the number of samples, for a line below its row. */
export function latencyLine(metrics: PointMetrics): string {
  const parts = [
    ['TTFT', metrics.ttftMs],
    ['TPOT', metrics.tpotMs],
    ['E2E', metrics.e2eMs],
  ] as const;
  const texts = parts.flatMap(([name, d]) =>
    d === null
      ? []
      : [`${name} p50 ${d.median.toFixed(1)} p99 ${d.p99.toFixed(1)} ms (n ${String(d.n)})`],
  );
  const { goodput } = metrics;
  if (goodput !== undefined) {
    const percent = (goodput.fraction * 100).toFixed(1);
    texts.push(`goodput ${goodput.requestsPerSecond.toFixed(2)} req/s (${percent} %)`);
  }
  return `       ${texts.join('   ')}`;
}

/** Two servers side by side: speed of each, and the change with its 95 % interval over rounds. */
export function comparisonTable(
  first: string,
  second: string,
  rows: readonly { readonly label: string; readonly comparison: Comparison | undefined }[],
): string {
  const lines = rows.map(({ label, comparison }) => {
    if (comparison === undefined) return `${label.padStart(6)}   not measured on both`;
    const { first: a, second: b, ratio, rounds } = comparison;
    const interval =
      ratio === undefined
        ? 'one round: no interval'
        : `${signedPercent(ratio.low - 1)} to ${signedPercent(ratio.high - 1)}, ${String(rounds)} rounds`;
    const change = signedPercent((ratio?.estimate ?? b / a) - 1);
    return `${label.padStart(6)} ${a.toFixed(1).padStart(10)} ${b.toFixed(1).padStart(10)} ${change.padStart(9)}   ${interval}`;
  });
  const heading = `${'C'.padStart(6)} ${'first'.padStart(10)} ${'second'.padStart(10)} ${'change'.padStart(9)}`;
  return `${[`first: ${first}`, `second: ${second}`, heading, ...lines].join('\n')}\n`;
}

/** A point as JSON with units in the keys, for scripts. */
export function benchJson(metrics: PointMetrics): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(metrics).map(([key, value]: [string, unknown]) => [snakeCase(key), value]),
  );
}

/**
 * A point as one line of SGLang's bench_serving result file (its keys, so that scripts that read
 * those go on working). Keys it has and we do not measure are left out; `failed` and
 * `steady_output_throughput` are ours.
 *
 * @see sglang.md 7.2, python/sglang/benchmark/serving.py of SGLang 0.5.23
 */
export function benchServingLine(
  metrics: PointMetrics,
  run: { readonly backend: string; readonly dataset: string; readonly tag: string },
): string {
  const { durationSeconds, promptTokens, outputTokens } = metrics;
  const inputThroughput = durationSeconds > 0 ? promptTokens / durationSeconds : 0;
  const busySeconds = ((metrics.e2eMs?.mean ?? 0) * (metrics.e2eMs?.n ?? 0)) / 1000;
  return JSON.stringify({
    tag: run.tag,
    backend: run.backend,
    dataset_name: run.dataset,
    request_rate: metrics.offeredRequestsPerSecond ?? 'inf',
    max_concurrency: metrics.concurrency,
    duration: durationSeconds,
    completed: metrics.completed,
    failed: metrics.failed,
    total_input_tokens: promptTokens,
    total_output_tokens: outputTokens,
    request_throughput: metrics.requestsPerSecond,
    input_throughput: inputThroughput,
    output_throughput: metrics.wholeRunTokensPerSecond,
    steady_output_throughput: metrics.steadyTokensPerSecond,
    total_throughput: inputThroughput + metrics.wholeRunTokensPerSecond,
    ...latencyKeys('e2e_latency', metrics.e2eMs),
    ...latencyKeys('ttft', metrics.ttftMs),
    ...latencyKeys('tpot', metrics.tpotMs),
    ...latencyKeys('itl', metrics.itlMs),
    concurrency: durationSeconds > 0 ? busySeconds / durationSeconds : 0,
    accept_length: metrics.acceptLength,
    max_output_tokens_per_s: metrics.peakTokensPerSecond ?? null,
  });
}

function latencyKeys(name: string, d: Distribution | null): Record<string, number> {
  if (d === null) return {};
  const { mean, median, p90, p95, p99 } = d;
  return Object.fromEntries(
    Object.entries({ mean, median, p90, p95, p99 }).map(([statistic, value]) => [
      `${statistic}_${name}_ms`,
      value,
    ]),
  );
}

function row(cells: readonly string[]): string {
  return COLUMNS.map(({ width }, i) => (cells[i] ?? '').padStart(width)).join(' | ');
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
