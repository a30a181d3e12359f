import type { Database } from 'better-sqlite3';
import type { RequestError, RequestRecord } from '../metrics/request-record.ts';
import type { StoredRequest } from './study-store.ts';

interface RequestRow {
  request_index: number;
  intended_at_ms: number;
  sent_at_ms: number;
  first_token_at_ms: number | null;
  last_token_at_ms: number | null;
  ended_at_ms: number;
  chunks: number;
  output_tokens: number;
  prompt_tokens: number;
  cached_tokens: number | null;
  requested_output_tokens: number;
  verify_count: number | null;
  finish_reason: string | null;
  tokens_from: StoredRequest['tokensFrom'];
  outcome: StoredRequest['outcome'];
  error_kind: RequestError['kind'] | null;
  error_message: string | null;
  error_http_status: number | null;
  retried: number | null;
}

/** Stores the scalars of each request; chunk arrays are not kept, only their number. */
export function insertRequests(
  db: Database,
  measurementId: number,
  records: readonly RequestRecord[],
): void {
  const insert = db.prepare(
    `INSERT INTO requests VALUES (:measurementId, :index, :intendedAtMs, :sentAtMs, :firstTokenAtMs,
       :lastTokenAtMs, :endedAtMs, :chunks, :outputTokens, :promptTokens, :cachedTokens,
       :requestedOutputTokens, :verifyCount, :finishReason, :tokensFrom, :outcome, :errorKind,
       :errorMessage, :errorHttpStatus, :retried)`,
  );
  for (const record of records) {
    insert.run({
      measurementId,
      index: record.index,
      intendedAtMs: record.intendedAtMs,
      sentAtMs: record.sentAtMs,
      firstTokenAtMs: record.firstTokenAtMs ?? null,
      lastTokenAtMs: record.lastTokenAtMs ?? null,
      endedAtMs: record.endedAtMs,
      chunks: record.chunkAtMs.length,
      outputTokens: record.outputTokens,
      promptTokens: record.promptTokens,
      cachedTokens: record.cachedTokens ?? null,
      requestedOutputTokens: record.requestedOutputTokens,
      verifyCount: record.verifyCount ?? null,
      finishReason: record.finishReason ?? null,
      tokensFrom: record.tokensFrom,
      outcome: record.outcome,
      errorKind: record.error?.kind ?? null,
      errorMessage: record.error?.message ?? null,
      errorHttpStatus: record.error?.httpStatus ?? null,
      retried: record.retried === undefined ? null : Number(record.retried),
    });
  }
}

/** Requests of a measurement by index. */
export function readRequests(db: Database, measurementId: number): StoredRequest[] {
  const rows = db
    .prepare('SELECT * FROM requests WHERE measurement_id = ? ORDER BY request_index')
    .all(measurementId) as RequestRow[];
  return rows.map((row) => ({
    index: row.request_index,
    intendedAtMs: row.intended_at_ms,
    sentAtMs: row.sent_at_ms,
    ...(row.first_token_at_ms === null ? {} : { firstTokenAtMs: row.first_token_at_ms }),
    ...(row.last_token_at_ms === null ? {} : { lastTokenAtMs: row.last_token_at_ms }),
    endedAtMs: row.ended_at_ms,
    chunks: row.chunks,
    outputTokens: row.output_tokens,
    promptTokens: row.prompt_tokens,
    ...(row.cached_tokens === null ? {} : { cachedTokens: row.cached_tokens }),
    requestedOutputTokens: row.requested_output_tokens,
    ...(row.verify_count === null ? {} : { verifyCount: row.verify_count }),
    ...(row.finish_reason === null ? {} : { finishReason: row.finish_reason }),
    tokensFrom: row.tokens_from,
    outcome: row.outcome,
    ...(row.error_kind === null ? {} : { error: errorOf(row.error_kind, row) }),
    ...(row.retried === null ? {} : { retried: row.retried === 1 }),
  }));
}

function errorOf(kind: RequestError['kind'], row: RequestRow): RequestError {
  return {
    kind,
    message: row.error_message ?? '',
    ...(row.error_http_status === null ? {} : { httpStatus: row.error_http_status }),
  };
}
