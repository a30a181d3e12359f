import * as z from 'zod';
import { UserError } from '../../errors.ts';
import type { Distribution } from '../../metrics/point-metrics.ts';
import type { ImportedPoint } from './imported-point.ts';

const figure = z.number().nullish();
const throughput = z.number().positive();

/**
 * Keys that are read from a result line of SGLang's bench_serving. Nothing else is kept: the line
 * holds the whole of `server_info`, API keys included.
 */
const resultSchema = z.looseObject({
  backend: z.string().nullish(),
  max_concurrency: z.number().int().positive().nullish(),
  num_prompts: figure,
  duration: figure,
  completed: figure,
  total_input_tokens: figure,
  total_output_tokens: figure,
  output_throughput: throughput,
  accept_length: figure,
  errors: z.array(z.string()).nullish(),
});

type Result = z.infer<typeof resultSchema>;

/**
 * Backends whose output tokens are the server's count. The OpenAI completions one reports the
 * *requested* length instead, the chat ones the server's only when it sends usage
 * (sglang/benchmark/serving.py, read at 8905cbd).
 */
const EXACT_BACKENDS = new Set(['sglang', 'sglang-native']);

/**
 * Reads the JSON lines that bench_serving appends with `--output-file`; undefined when no line is
 * one. Several lines at one concurrency are repeats.
 *
 * @throws UserError naming the line that is not a result or does not say its `max_concurrency`.
 */
export function parseBenchServing(
  text: string,
  source: string,
): readonly ImportedPoint[] | undefined {
  const lines = text.split(/\r?\n/);
  const found = lines.flatMap((line, index) => {
    if (!line.trim().startsWith('{')) return [];
    return { json: parseJson(line), place: `${source}:${index + 1}` };
  });
  const isResult = (json: unknown) =>
    typeof json === 'object' && json !== null && 'output_throughput' in json;
  if (!found.some(({ json }) => isResult(json))) return undefined;
  return found.map(({ json, place }) => pointOf(json, place));
}

/** Undefined for what is no JSON. Python writes an endless request rate as a bare `Infinity`. */
function parseJson(line: string): unknown {
  const strict = line.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (found) =>
    found.startsWith('"') ? found : 'null',
  );
  try {
    return JSON.parse(strict);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function pointOf(json: unknown, place: string): ImportedPoint {
  const parsed = resultSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
    throw new UserError(`${place} is not a result of bench_serving${what}`);
  }
  const result = parsed.data;
  if (result.max_concurrency === null || result.max_concurrency === undefined) {
    throw new UserError(`${place} has no max_concurrency: how many were in flight is not known`, {
      hint: 'run bench_serving with --max-concurrency N',
    });
  }
  return {
    concurrency: result.max_concurrency,
    outputTokensPerSecond: result.output_throughput,
    ...perRequestSpeed(result),
    ...known('outputTokens', result.total_output_tokens),
    ...known('promptTokens', result.total_input_tokens),
    ...known('durationSeconds', result.duration),
    ...known('completed', result.completed),
    ...known('failed', failedOf(result)),
    ...known('acceptLength', result.accept_length),
    ttftMs: distribution(result, 'ttft'),
    itlMs: distribution(result, 'itl'),
    tpotMs: distribution(result, 'tpot'),
    e2eMs: distribution(result, 'e2e_latency'),
    tokensFrom: EXACT_BACKENDS.has(result.backend ?? '') ? 'server' : 'estimated',
  };
}

/** Speed while decoding, from the mean time per output token. */
function perRequestSpeed(result: Result): { perRequestTokensPerSecond?: number } {
  const tpotMs = result['mean_tpot_ms'];
  return typeof tpotMs === 'number' && tpotMs > 0
    ? { perRequestTokensPerSecond: 1000 / tpotMs }
    : {};
}

/** There is no count of failures: from the number of prompts, or the errors of --output-details. */
function failedOf({ num_prompts, completed, errors }: Result): number | undefined {
  if (typeof num_prompts === 'number' && typeof completed === 'number') {
    return Math.max(0, num_prompts - completed);
  }
  return errors?.filter((message) => message !== '').length;
}

function distribution(result: Result, latency: string): Partial<Distribution> {
  const statistics = ['mean', 'median', 'p90', 'p95', 'p99'] as const;
  const entries = statistics.flatMap((statistic) => {
    const value = result[`${statistic}_${latency}_ms`];
    return typeof value === 'number' ? [[statistic, value] as const] : [];
  });
  if (entries.length === 0) return {};
  return { ...Object.fromEntries(entries), ...known('n', result.completed) };
}

function known<K extends string>(
  name: K,
  value: number | null | undefined,
): { [key in K]?: number } {
  return value === null || value === undefined ? {} : ({ [name]: value } as { [key in K]: number });
}
