import type { Distribution } from './point-metrics.ts';
import type { RequestRecord } from './request-record.ts';

/** Slack of float sums and of spread tokens; far below any difference that matters. */
const ROUNDING = 1e-6;

/**
 * What cannot be true of a completed request, as a sentence; undefined when all is in order. A
 * broken one means that the accounting is wrong, not that the server is slow (field report C2).
 */
export function brokenRequestInvariant(record: RequestRecord): string | undefined {
  const { sentAtMs, firstTokenAtMs, lastTokenAtMs, endedAtMs, chunkAtMs, chunkTokens } = record;
  const name = `request ${record.index}`;
  const moments = [sentAtMs, firstTokenAtMs, lastTokenAtMs, endedAtMs];
  if (moments.some((at) => at === undefined || !Number.isFinite(at))) {
    return `${name}: completed without a first and a last token`;
  }
  if (!isAscending(moments as number[]) || !isAscending(chunkAtMs)) {
    return `${name}: its moments are out of order`;
  }
  if (!isAscending(chunkTokens)) return `${name}: its token count went down`;
  if (record.tokensFrom === 'server' && chunkTokens.length > 0) {
    const counted = chunkTokens.at(-1) ?? 0;
    if (counted !== record.outputTokens) {
      return `${name}: chunks brought ${counted} tokens, its total is ${record.outputTokens}`;
    }
  }
  // Counting chunks or re-tokenising shows up as more tokens than were asked for (C3).
  if (record.outputTokens > record.requestedOutputTokens) {
    return `${name}: ${record.outputTokens} tokens, ${record.requestedOutputTokens} were asked for`;
  }
  return undefined;
}

/** True when min <= p50 <= p90 <= p95 <= p99 <= max, and the mean lies between min and max. */
export function isOrdered(d: Distribution): boolean {
  return (
    isAscending([d.min, d.median, d.p90, d.p95, d.p99, d.max]) &&
    isAscending([d.min, d.mean, d.max])
  );
}

/** What is wrong with a point's totals, as a sentence; undefined when nothing is. */
export function brokenPointInvariant(point: {
  readonly peakTokensPerSecond: number | undefined;
  readonly meanTokensPerSecond: number;
  readonly distributions: readonly (Distribution | null)[];
}): string | undefined {
  const { peakTokensPerSecond: peak, meanTokensPerSecond: mean } = point;
  if (peak !== undefined && peak < mean * (1 - ROUNDING)) {
    return `peak ${peak.toFixed(1)} tok/s below the mean ${mean.toFixed(1)}`;
  }
  if (!Number.isFinite(mean) || mean < 0) return `throughput is ${mean}`;
  const unordered = point.distributions.find((d) => d !== null && !isOrdered(d));
  return unordered == null ? undefined : `percentiles out of order (n ${unordered.n})`;
}

function isAscending(values: readonly number[]): boolean {
  return values.every((value, i) => i === 0 || (values[i - 1] ?? value) <= value);
}
