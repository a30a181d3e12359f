import _ from 'lodash';
import { z } from 'zod';
import { UserError } from '../errors.ts';
import { type CountWhat, LoadShares, type ObservedLoad } from './profile-shares.ts';

/** The series that are read; counters and gauges of SGLang 0.4.9 to 0.5.23 (`:` became `_` in some set-ups). */
const RUNNING = 'sglang:num_running_reqs';
const QUEUED = 'sglang:num_queue_reqs';
const REQUESTS = 'sglang:num_requests_total';
const INPUT = 'sglang:prompt_tokens_total';
const OUTPUT = 'sglang:generation_tokens_total';

/** Longest time that one sample of a range stands for; more is a gap in the recording. */
const LONGEST_STEP_SECONDS = 300;

/** One read of `/metrics`. */
export interface MetricsSnapshot {
  readonly text: string;
  /** Seconds it stands for. */
  readonly seconds: number;
}

/**
 * The load of text snapshots in the order they were taken; arrivals and lengths from the first to
 * the last one's counters.
 *
 * @throws UserError for a text without SGLang's gauge.
 */
export function loadOfSnapshots(
  snapshots: readonly MetricsSnapshot[],
  what: CountWhat = 'in-flight',
): ObservedLoad {
  const shares = new LoadShares(what);
  for (const { text, seconds } of snapshots) {
    const running = total(text, RUNNING);
    if (running === undefined) throw noGauge();
    shares.add({ running, queued: total(text, QUEUED) ?? 0, seconds });
  }
  const grown = (name: string): number | null => {
    const first = total(snapshots[0]?.text ?? '', name);
    const last = total(snapshots.at(-1)?.text ?? '', name);
    // A counter that fell was restarted: nothing can be said.
    return first === undefined || last === undefined || last <= first ? null : last - first;
  };
  const requests = grown(REQUESTS);
  const mean = (sum: number | null) => (sum === null || requests === null ? null : sum / requests);
  return shares.result({
    requests,
    meanInputTokens: mean(grown(INPUT)),
    meanOutputTokens: mean(grown(OUTPUT)),
  });
}

/**
 * Sum of a metric over data-parallel ranks and models; undefined when it is not there. Tensor,
 * pipeline and expert ranks report the same requests: the largest of them counts.
 */
function total(text: string, name: string): number | undefined {
  const groups = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith(name) && !line.startsWith(name.replace(':', '_'))) continue;
    const match = /^([\w:]+)(?:\{(.*)\})?\s+(\S+)/.exec(line);
    if (match?.[1]?.replace(/^sglang_/, 'sglang:') !== name) continue;
    const value = Number(match[3]);
    if (!Number.isFinite(value)) continue;
    const group = (match[2] ?? '').replace(/\b(?:tp|pp|moe_ep)_rank="[^"]*",?/g, '');
    groups.set(group, Math.max(groups.get(group) ?? 0, value));
  }
  if (groups.size === 0) return undefined;
  return [...groups.values()].reduce((sum, value) => sum + value, 0);
}

const rangeSchema = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

/**
 * The load of a Prometheus range query's JSON answer (`/api/v1/query_range`), for the running
 * requests alone or together with the queued ones. A sample stands for the time to the next.
 *
 * @throws UserError for something else than such an answer.
 */
export function loadOfRange(json: unknown, what: CountWhat = 'in-flight'): ObservedLoad {
  const parsed = rangeSchema.safeParse(json);
  if (!parsed.success) {
    throw new UserError('this JSON is not the answer of a Prometheus range query', {
      hint: `ask /api/v1/query_range?query=${RUNNING}&start=...&end=...&step=15`,
    });
  }
  const samples = rangeSamples(parsed.data.data.result);
  if (samples.length === 0) throw noGauge();
  const shares = new LoadShares(what);
  samples.forEach(({ at, running, queued }, i) => {
    const next = samples[i + 1]?.at ?? at + (at - (samples[i - 1]?.at ?? at - 1));
    shares.add({ running, queued, seconds: Math.min(next - at, LONGEST_STEP_SECONDS) });
  });
  const moment = (at: number | undefined) => new Date((at ?? 0) * 1000).toISOString();
  return shares.result({ period: [moment(samples[0]?.at), moment(samples.at(-1)?.at)] });
}

type RangeSeries = z.infer<typeof rangeSchema>['data']['result'];

function rangeSamples(series: RangeSeries) {
  const running = byMoment(series, RUNNING);
  const queued = byMoment(series, QUEUED);
  return [...running]
    .sort(([a], [b]) => a - b)
    .map(([at, value]) => ({ at, running: value, queued: queued.get(at) ?? 0 }));
}

/** A query that sums has no name left: such a series is taken for the running requests. */
function byMoment(series: RangeSeries, name: string): ReadonlyMap<number, number> {
  const groups = new Map<string, Map<number, number>>();
  for (const { metric, values } of series) {
    const own = (metric['__name__'] ?? RUNNING).replace(/^sglang_/, 'sglang:');
    if (own !== name) continue;
    const key = JSON.stringify(_.omit(metric, ['tp_rank', 'pp_rank', 'moe_ep_rank']));
    const group = groups.get(key) ?? new Map<number, number>();
    for (const [at, text] of values) {
      const value = Number(text);
      if (Number.isFinite(value)) group.set(at, Math.max(group.get(at) ?? 0, value));
    }
    groups.set(key, group);
  }
  const sums = new Map<number, number>();
  for (const group of groups.values()) {
    for (const [at, value] of group) sums.set(at, (sums.get(at) ?? 0) + value);
  }
  return sums;
}

function noGauge(): UserError {
  return new UserError(`no ${RUNNING} in this data`, {
    hint: 'start SGLang with --enable-metrics, or use its log: Decode batch lines need no flag',
  });
}
