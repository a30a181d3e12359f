import type { RequestRecord } from '../../../src/metrics/request-record.ts';

/** A completed request whose chunks come `gapMs` apart, `perChunk` tokens each. */
export function completedRequest(
  overrides: Partial<RequestRecord> & {
    readonly gapMs?: number;
    readonly perChunk?: number;
    readonly chunks?: number;
    readonly ttftMs?: number;
  } = {},
): RequestRecord {
  const { gapMs = 40, perChunk = 1, chunks = 25, ttftMs = 0, ...rest } = overrides;
  const sentAtMs = rest.sentAtMs ?? 0;
  const chunkAtMs = Array.from({ length: chunks }, (_, i) => sentAtMs + ttftMs + i * gapMs);
  const last = chunkAtMs.at(-1) ?? sentAtMs;
  return {
    index: 0,
    intendedAtMs: sentAtMs,
    sentAtMs,
    firstTokenAtMs: chunkAtMs[0] ?? sentAtMs,
    lastTokenAtMs: last,
    endedAtMs: last,
    chunkAtMs,
    chunkTokens: chunkAtMs.map((_, i) => (i + 1) * perChunk),
    outputTokens: chunks * perChunk,
    promptTokens: 10,
    requestedOutputTokens: chunks * perChunk,
    finishReason: 'length',
    tokensFrom: 'server',
    outcome: 'completed',
    ...rest,
  };
}

/** A request refused with a 503, `afterMs` after it was sent. */
export function refusedRequest(sentAtMs: number, afterMs = 1): RequestRecord {
  return {
    index: 0,
    intendedAtMs: sentAtMs,
    sentAtMs,
    endedAtMs: sentAtMs + afterMs,
    chunkAtMs: [],
    chunkTokens: [],
    outputTokens: 0,
    promptTokens: 0,
    requestedOutputTokens: 100,
    tokensFrom: 'server',
    outcome: 'failed',
    error: { kind: 'refused', message: 'The request queue is full.', httpStatus: 503 },
  };
}
