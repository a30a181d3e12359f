import { e2eMs, tpotMs, ttftFromIntendedMs } from './request-metrics.ts';
import type { RequestRecord } from './request-record.ts';

/** Service-level objectives of one request, ms; absent ones are not asked for. */
export interface Slos {
  /** From the intended send: the user's wait, whoever causes it. */
  readonly ttftMs?: number;
  readonly tpotMs?: number;
  readonly e2eMs?: number;
}

/** Requests that meet every objective. */
export interface Goodput {
  /** Of the requests that were sent, failed ones included. */
  readonly fraction: number;
  /** Per second of the run. */
  readonly requestsPerSecond: number;
}

/** Goodput of a run; a failed request never meets an objective. Undefined without any objective. */
export function goodput(
  records: readonly RequestRecord[],
  durationSeconds: number,
  slos: Slos | undefined,
): Goodput | undefined {
  if (slos === undefined || Object.keys(slos).length === 0) return undefined;
  const good = records.filter((record) => record.outcome === 'completed' && meets(record, slos));
  return {
    fraction: records.length === 0 ? 0 : good.length / records.length,
    requestsPerSecond: durationSeconds > 0 ? good.length / durationSeconds : 0,
  };
}

function meets(record: RequestRecord, slos: Slos): boolean {
  const { ttftMs, tpotMs: tpot, e2eMs: e2e } = slos;
  return (
    within(ttftFromIntendedMs(record), ttftMs) &&
    // An answer of one chunk has no time per token to be late with.
    within(tpotMs(record) ?? 0, tpot) &&
    within(e2eMs(record), e2e)
  );
}

function within(value: number | undefined, limit: number | undefined): boolean {
  return limit === undefined || (value !== undefined && value <= limit);
}
