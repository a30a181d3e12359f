import { tokensPerChunk } from './request-metrics.ts';
import type { RequestRecord } from './request-record.ts';

/** [start, end] in ms on the run's clock; start < end. */
export type Window = readonly [number, number];

/**
 * The part of a closed loop in which `concurrency` requests were in flight: from the send that
 * completes the first wave until the end after which fewer than `concurrency` can be in flight
 * (nothing is left to send). Ramp-up and drain stay outside (field report C16).
 *
 * Undefined when `concurrency` requests were never in flight together. A run that was cut short
 * ends its window where its last requests were aborted.
 */
export function steadyWindow(
  records: readonly RequestRecord[],
  concurrency: number,
): Window | undefined {
  const sent = records.map((record) => record.sentAtMs).sort((a, b) => a - b);
  const ended = records.map((record) => record.endedAtMs).sort((a, b) => a - b);
  const start = sent[concurrency - 1];
  const end = ended[records.length - concurrency];
  if (start === undefined || end === undefined || !(end > start)) return undefined;
  return [start, end];
}

/**
 * The part of an open loop in which requests arrived: first to last intended send. What drains
 * afterwards stays outside. Undefined for fewer than two arrivals.
 */
export function arrivalWindow(records: readonly RequestRecord[]): Window | undefined {
  const due = records.map((record) => record.intendedAtMs).sort((a, b) => a - b);
  const [start, end] = [due[0], due.at(-1)];
  return start !== undefined && end !== undefined && end > start ? [start, end] : undefined;
}

/**
 * Output tokens that arrived in (start, end], each counted at the arrival of its chunk.
 *
 * Requests that failed are left out: their tokens are no use to anybody. Requests cut off by the
 * end of the run count, the server did produce those tokens inside the window.
 */
export function tokensInWindow(records: readonly RequestRecord[], [start, end]: Window): number {
  let total = 0;
  for (const record of records) {
    if (record.outcome === 'failed') continue;
    const tokens = tokensPerChunk(record);
    record.chunkAtMs.forEach((at, i) => {
      if (at > start && at <= end) total += tokens[i] ?? 0;
    });
  }
  return total;
}

/**
 * Highest output rate in tokens per second over equal slices of `[start, end]` of at least one
 * second each (one slice below two seconds). By construction never below the mean over
 * `[start, end]` (field report C2). Undefined for an empty stretch.
 */
export function peakTokensPerSecond(
  records: readonly RequestRecord[],
  [start, end]: Window,
): number | undefined {
  const lengthMs = end - start;
  if (!(lengthMs > 0)) return undefined;
  const slices = new Float64Array(Math.max(1, Math.floor(lengthMs / 1000)));
  const sliceMs = lengthMs / slices.length;
  for (const record of records) {
    if (record.outcome !== 'completed') continue;
    const tokens = tokensPerChunk(record);
    record.chunkAtMs.forEach((at, i) => {
      const slice = Math.min(Math.max(Math.floor((at - start) / sliceMs), 0), slices.length - 1);
      slices[slice] = (slices[slice] ?? 0) + (tokens[i] ?? 0);
    });
  }
  return Math.max(...slices) / (sliceMs / 1000);
}
