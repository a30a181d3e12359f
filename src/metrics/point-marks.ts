import type { Mark } from './point-metrics.ts';

/** Below this many waves of requests ramp and drain outweigh the steady part (design, score). */
export const MIN_WAVES = 3;
/** More short answers than this and two rows do not compare (field report C8: "a few percent"). */
const SHORT_FRACTION = 0.03;
/** A shared template and the begin-of-text token hit the cache always; more is an answer from it. */
const CACHED_FRACTION = 0.05;
/**
 * Share of the requests in flight that must be decoding. The reference table has 0.85 and 0.89
 * by ramp and drain alone (4 and 16 in flight), 0.75 and 0.37 where the server holds back (32, 64).
 */
const DECODING_FRACTION = 0.8;
/** The load generator held its own work back for this long, or used a whole core: it was the limit. */
const CLIENT_DELAY_MS = 250;
const CLIENT_CPU_FRACTION = 0.95;
/**
 * Running or waiting for a core nearly all the time: others took the CPU away. Seen with four burning
 * processes on its core: a third of the throughput, and an event loop late by time slices only.
 */
const STARVED_FRACTION = 0.95;

/** What the load generator saw of itself during a run. */
export interface ClientLoad {
  readonly eventLoopDelayP99Ms: number;
  /** CPU seconds / wall seconds. */
  readonly cpuFraction: number;
  /** Share of the time its thread was ready but had no core; absent where the system does not say. */
  readonly cpuWaitFraction?: number;
  readonly dispatchLagP99Ms?: number;
  readonly peakInFlight?: number;
}

/** What marks are decided from; see PointMetrics for the meaning of each figure. */
export interface MarkFacts {
  readonly concurrency: number;
  readonly plannedRequests: number;
  readonly completed: number;
  readonly failed: number;
  readonly shortFraction: number;
  readonly failureFraction: number;
  readonly cachedFraction: number | null;
  readonly decodingConcurrency: number | null;
  readonly estimatedRequests: number;
  readonly brokenInvariant: string | undefined;
  readonly end: string;
  readonly cacheable: boolean;
  readonly flushed: boolean | null;
  readonly settled: boolean | null;
  readonly timeScale: number;
  readonly runningLimit: number | null;
  readonly selfCheck: ClientLoad | null;
  readonly acceptLength: number | null;
  readonly openLoop: boolean;
  readonly pauses: boolean;
  readonly natural: boolean;
  readonly sharedFraction: number;
}

type Rule = (facts: MarkFacts) => Mark | undefined;

const mark = (condition: boolean, make: () => Mark): Mark | undefined =>
  condition ? make() : undefined;

const rules: readonly Rule[] = [
  (f) =>
    mark(!f.openLoop && f.plannedRequests < MIN_WAVES * f.concurrency, () => ({
      code: 'too-short',
      facts: { waves: rounded(f.plannedRequests / f.concurrency), needed: MIN_WAVES },
    })),
  (f) => (f.openLoop || f.pauses ? undefined : serverBound(f)),
  (f) => mark(f.cacheable, () => ({ code: 'cacheable-prompts', facts: {} })),
  (f) =>
    mark((f.cachedFraction ?? 0) > CACHED_FRACTION + f.sharedFraction, () => ({
      code: 'prefix-cache-hits',
      facts: { cachedFraction: rounded(f.cachedFraction ?? 0) },
    })),
  (f) =>
    mark(f.shortFraction > SHORT_FRACTION, () => ({
      code: 'short-answers',
      facts: { shortFraction: rounded(f.shortFraction) },
    })),
  (f) =>
    mark(f.failed > 0, () => ({
      code: 'failed-requests',
      facts: { failed: f.failed, failureFraction: rounded(f.failureFraction) },
    })),
  (f) =>
    mark(f.estimatedRequests > 0, () => ({
      code: 'estimated-tokens',
      facts: { requests: f.estimatedRequests },
    })),
  (f) =>
    mark(f.brokenInvariant !== undefined, () => ({
      code: 'broken-invariant',
      facts: { what: f.brokenInvariant ?? '' },
    })),
  (f) => clientLimited(f),
  (f) =>
    mark(!f.natural && f.acceptLength !== null, () => ({
      code: 'unnatural-prompts',
      facts: { acceptLength: rounded(f.acceptLength ?? 0) },
    })),
  (f) => mark(f.flushed === false, () => ({ code: 'not-flushed', facts: {} })),
  (f) => mark(f.settled === false, () => ({ code: 'unsettled-warm-up', facts: {} })),
  (f) =>
    mark(f.runningLimit !== null && f.concurrency > f.runningLimit, () => ({
      code: 'above-running-limit',
      facts: { runningLimit: f.runningLimit ?? 0, concurrency: f.concurrency },
    })),
  (f) => mark(f.timeScale !== 1, () => ({ code: 'simulated', facts: { timeScale: f.timeScale } })),
  (f) => mark(f.end !== 'completed', () => ({ code: 'partial', facts: { end: f.end } })),
];

/** All remarks on a point, in the order of the rules. */
export function pointMarks(facts: MarkFacts): readonly Mark[] {
  return rules.map((rule) => rule(facts)).filter((found) => found !== undefined);
}

/**
 * The `server-bound` remark: clearly fewer requests were decoding than were in flight, so the
 * server held some back (field: a running limit that nobody knew of). Undefined otherwise. Also
 * used for measurements that come from a printed table.
 */
export function serverBound(facts: {
  readonly concurrency: number;
  readonly decodingConcurrency: number | null;
  /** As the server reports it, where it does. */
  readonly runningLimit?: number | null;
}): Mark | undefined {
  const { concurrency, decodingConcurrency: decoding, runningLimit = null } = facts;
  if (decoding === null) return undefined;
  // A limit above the concurrency holds nothing back: the rest is reading its prompts.
  if (runningLimit !== null && concurrency <= runningLimit) return undefined;
  // At one or two in flight the prompt phase alone takes a request out of decoding.
  const bound = decoding < DECODING_FRACTION * concurrency && concurrency - decoding > 1;
  return mark(bound, () => ({
    code: 'server-bound',
    facts: { decodingConcurrency: rounded(decoding), concurrency },
  }));
}

function clientLimited({ selfCheck, concurrency, ...facts }: MarkFacts): Mark | undefined {
  if (selfCheck === null) return undefined;
  const { eventLoopDelayP99Ms, cpuFraction, cpuWaitFraction = 0 } = selfCheck;
  const { dispatchLagP99Ms = 0, peakInFlight = concurrency } = selfCheck;
  // Beside a simulated server with a fast clock there is never an idle moment.
  const starved = facts.timeScale === 1 && cpuFraction + cpuWaitFraction > STARVED_FRACTION;
  const tooFew =
    !facts.openLoop &&
    !facts.pauses &&
    facts.end === 'completed' &&
    peakInFlight < Math.min(concurrency, facts.plannedRequests);
  const limited =
    eventLoopDelayP99Ms > CLIENT_DELAY_MS ||
    dispatchLagP99Ms > CLIENT_DELAY_MS ||
    cpuFraction > CLIENT_CPU_FRACTION ||
    starved ||
    tooFew;
  return mark(limited, () => ({
    code: 'client-limited',
    facts: {
      eventLoopDelayP99Ms: rounded(eventLoopDelayP99Ms),
      cpuFraction: rounded(cpuFraction),
      cpuWaitFraction: rounded(cpuWaitFraction),
      dispatchLagP99Ms: rounded(dispatchLagP99Ms),
      peakInFlight,
    },
  }));
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
