import type { Mark } from './point-metrics.ts';
import type { RequestRecord } from './request-record.ts';
import { sum } from './statistics.ts';

/** Totals of a server since its start, from its metrics endpoint; null for one it does not keep. */
export interface ServerCounters {
  readonly outputTokens: number | null;
  readonly promptTokens: number | null;
  readonly requests: number | null;
  /** Speculative verify steps. */
  readonly verifySteps: number | null;
  readonly cachedTokens: number | null;
  /** Requests taken out of the batch for lack of memory. */
  readonly retractions: number | null;
}

/** What the server counted during one load run, beside what the client received. */
export interface ServerCounts {
  readonly counted: ServerCounters;
  readonly clientOutputTokens: number;
  readonly clientRequests: number;
  /** Server's output tokens / client's - 1; null when the server does not count them. */
  readonly outputGapFraction: number | null;
}

/** Client and server may count the request under way at a boundary differently; more is a fault. */
const GAP_FRACTION = 0.03;
/** A monitor's health probe generates a token now and then; more than this is other people's load. */
const FOREIGN_FRACTION = 0.02;
const FOREIGN_REQUESTS = 2;

/** Counters at the end minus counters at the start of the run. */
export function countsBetween(before: ServerCounters, after: ServerCounters): ServerCounters {
  const minus = (key: keyof ServerCounters): number | null => {
    const [start, end] = [before[key], after[key]];
    // Prometheus clients make a labelled counter when it first counts: absent before means 0.
    return end === null ? null : end - (start ?? 0);
  };
  return {
    outputTokens: minus('outputTokens'),
    promptTokens: minus('promptTokens'),
    requests: minus('requests'),
    verifySteps: minus('verifySteps'),
    cachedTokens: minus('cachedTokens'),
    retractions: minus('retractions'),
  };
}

/** The counts of a run side by side. Output of failed and cut-off requests is in both. */
export function serverCounts(
  counted: ServerCounters,
  records: readonly RequestRecord[],
): ServerCounts {
  const clientOutputTokens = sum(records.map((record) => record.outputTokens));
  const { outputTokens } = counted;
  return {
    counted,
    clientOutputTokens,
    clientRequests: records.length,
    outputGapFraction:
      outputTokens === null || clientOutputTokens === 0
        ? null
        : outputTokens / clientOutputTokens - 1,
  };
}

/**
 * `foreign-requests` when the server answered clearly more requests than were sent, else
 * `server-count-differs` when its output tokens are more than 3 % off (field report C11).
 */
export function serverCountMarks(counts: ServerCounts | null): readonly Mark[] {
  if (counts === null) return [];
  const { counted, clientRequests, outputGapFraction } = counts;
  const foreign = (counted.requests ?? clientRequests) - clientRequests;
  if (foreign > Math.max(FOREIGN_REQUESTS, FOREIGN_FRACTION * clientRequests)) {
    return [{ code: 'foreign-requests', facts: { foreign, sent: clientRequests } }];
  }
  if (outputGapFraction === null || Math.abs(outputGapFraction) <= GAP_FRACTION) return [];
  const gapFraction = Math.round(outputGapFraction * 1000) / 1000;
  return [{ code: 'server-count-differs', facts: { gapFraction } }];
}
