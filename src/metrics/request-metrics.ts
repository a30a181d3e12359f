import type { RequestRecord } from './request-record.ts';

/**
 * Time to first token in ms: first output of any kind (reasoning and tool calls included) - send.
 * Undefined when no output came.
 */
export function ttftMs(record: RequestRecord): number | undefined {
  if (record.firstTokenAtMs === undefined) return undefined;
  return record.firstTokenAtMs - record.sentAtMs;
}

/**
 * First output - intended send, ms. In an open loop the send may come late; the wait is the user's
 * all the same (field report C19). Undefined when no output came.
 */
export function ttftFromIntendedMs(record: RequestRecord): number | undefined {
  if (record.firstTokenAtMs === undefined) return undefined;
  return record.firstTokenAtMs - record.intendedAtMs;
}

/** First visible text - send, ms; undefined when none came or the record does not tell. */
export function firstContentMs(record: RequestRecord): number | undefined {
  if (record.firstContentAtMs === undefined) return undefined;
  return record.firstContentAtMs - record.sentAtMs;
}

/** Gaps between chunks that brought output, ms; one less than there are chunks. */
export function chunkGapsMs({ chunkAtMs }: RequestRecord): number[] {
  return chunkAtMs.slice(1).map((at, i) => at - (chunkAtMs[i] ?? at));
}

/** Duration of the whole request in ms: end of the answer - send. */
export function e2eMs(record: RequestRecord): number {
  return record.endedAtMs - record.sentAtMs;
}

/**
 * Output tokens that each chunk of `record.chunkAtMs` brought; same length, sums to `outputTokens`
 * when the server counted. Where the server counts only at the end, its total is spread evenly
 * over the chunks (fractions then).
 *
 * A chunk is not a token: with speculation it is one verify step (field report C1).
 */
export function tokensPerChunk(record: RequestRecord): readonly number[] {
  const { chunkAtMs, chunkTokens, outputTokens } = record;
  if (chunkTokens.length !== chunkAtMs.length || chunkTokens.length === 0) {
    return chunkAtMs.map(() => outputTokens / chunkAtMs.length);
  }
  return chunkTokens.map((tokens, i) => tokens - (chunkTokens[i - 1] ?? 0));
}

/**
 * Output tokens after the first chunk and the ms they took; undefined for a single chunk.
 * The tokens of the first chunk belong to the prefill, however many they are.
 */
function decodePhase(record: RequestRecord): { tokens: number; ms: number } | undefined {
  const { firstTokenAtMs, lastTokenAtMs, outputTokens } = record;
  if (firstTokenAtMs === undefined || lastTokenAtMs === undefined) return undefined;
  const tokens = outputTokens - (tokensPerChunk(record)[0] ?? 0);
  const ms = lastTokenAtMs - firstTokenAtMs;
  return tokens > 0 && ms > 0 ? { tokens, ms } : undefined;
}

/**
 * Time per output token in ms: `(last token - first token) / tokens after the first chunk`.
 *
 * Excludes TTFT, as SGLang's bench_serving does; that divides by `tokens - 1`, which is too low
 * when the first chunk brings several tokens. Undefined when all output came at once.
 */
export function tpotMs(record: RequestRecord): number | undefined {
  const phase = decodePhase(record);
  return phase && phase.ms / phase.tokens;
}

/**
 * Decode speed of a request in tokens per second, as the time-weighted mean over the requests: sum
 * of tokens after the first chunk / sum of the time they took. Undefined when there is none.
 *
 * Excludes the wait for the first token, like the per-request column of the reference benchmark
 * (123.3 beside an aggregate of 121.6 at one request in flight). The weighted mean is the one for
 * which Little's law is exact, and one answer that arrived in a burst cannot pull it up.
 */
export function decodeTokensPerSecond(records: readonly RequestRecord[]): number | undefined {
  let tokens = 0;
  let ms = 0;
  for (const record of records) {
    const phase = decodePhase(record);
    tokens += phase?.tokens ?? 0;
    ms += phase?.ms ?? 0;
  }
  return ms > 0 ? (tokens / ms) * 1000 : undefined;
}

/**
 * Inter-token latencies in ms, one per token after the first chunk: the gap before a chunk is
 * spread over the tokens of that chunk, as SGLang's bench_serving does for `/generate`.
 */
export function itlMs(record: RequestRecord): number[] {
  const tokens = tokensPerChunk(record);
  const gaps: number[] = [];
  let previousAtMs: number | undefined;
  record.chunkAtMs.forEach((atMs, i) => {
    const count = tokens[i] ?? 0;
    if (count <= 0) return;
    if (previousAtMs !== undefined) {
      const gap = (atMs - previousAtMs) / count;
      for (let n = Math.max(1, Math.round(count)); n > 0; n -= 1) gaps.push(gap);
    }
    previousAtMs = atMs;
  });
  return gaps;
}
