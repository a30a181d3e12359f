/** Latency histogram in seconds, as Prometheus keeps it. */
export class Histogram {
  readonly counts: number[];
  sum = 0;
  count = 0;

  readonly bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  add(seconds: number): void {
    this.sum += seconds;
    this.count += 1;
    this.bounds.forEach((bound, i) => {
      if (seconds <= bound) this.counts[i] = (this.counts[i] ?? 0) + 1;
    });
  }
}

const TTFT_BOUNDS = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400];
const E2E_BOUNDS = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600];

/** What the server counted since it started; the source of /metrics. */
export class Counters {
  promptTokens = 0;
  generationTokens = 0;
  cachedTokens = 0;
  requests = 0;
  abortedRequests = 0;
  retractedRequests = 0;
  verifyCalls = 0;
  prefillComputeTokens = 0;
  prefillCacheTokens = 0;
  decodeTokens = 0;
  decodeGraphPasses = 0;
  decodeEagerPasses = 0;
  prefillPasses = 0;
  readonly ttftSeconds = new Histogram(TTFT_BOUNDS);
  readonly e2eSeconds = new Histogram(E2E_BOUNDS);
  readonly queueSeconds = new Histogram(TTFT_BOUNDS);
}

/** State that SGLang refreshes every `--decode-log-interval` decode steps only. */
export interface IntervalState {
  generationThroughput: number;
  acceptLength: number | undefined;
  acceptRate: number | undefined;
  runningRequests: number;
}
