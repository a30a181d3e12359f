import { type Limit, WORST_CONCURRENCY } from '../ranking/limits.ts';
import { Problems, show, suggest } from './problems.ts';
import { parseFraction } from './quantities.ts';

type Better = 'lower' | 'higher';

const STATISTICS = ['mean', 'median', 'p90', 'p95', 'p99', 'max'];
const LATENCIES = ['ttft', 'itl', 'tpot', 'e2e'];

/** Metrics a limit may name, and which way is better. Latencies in ms of the server's time. */
export const LIMIT_METRICS: ReadonlyMap<string, Better> = new Map<string, Better>([
  ...LATENCIES.flatMap((latency) =>
    STATISTICS.map((statistic): [string, Better] => [`${statistic}_${latency}_ms`, 'lower']),
  ),
  ['failure_fraction', 'lower'],
  ['short_fraction', 'lower'],
  /** Share of requests that meet `objective.slo`. */
  ['goodput_fraction', 'higher'],
  ['accept_length', 'higher'],
  ['output_tokens_per_second', 'higher'],
  ['per_request_tokens_per_second', 'higher'],
  ['requests_per_second', 'higher'],
  ['whole_run_tokens_per_second', 'higher'],
  ['decoding_concurrency', 'higher'],
  /** Smallest ratio to the baseline over all concurrencies with weight. */
  [WORST_CONCURRENCY, 'higher'],
]);

const LIMIT = /^\s*([A-Za-z]\w*)\s*(<=|>=|==|!=|<|>|=)\s*(\S+)\s*$/;

/** The limits of `objective.limits`, e.g. `p99_ttft_ms <= 4000`; mistakes go to `problems`. */
export function readLimits(written: readonly string[], problems: Problems): readonly Limit[] {
  return written.flatMap((text, index) => {
    const problem = (message: string, hint?: string): [] => {
      problems.add(['objective', 'limits', index], message, { hint });
      return [];
    };
    const [, metric, operator, operand] = LIMIT.exec(text) ?? [];
    if (metric === undefined || operator === undefined || operand === undefined) {
      return problem(`${show(text)} is not "metric <= value" or "metric >= value"`);
    }
    const better = LIMIT_METRICS.get(metric);
    if (better === undefined) {
      return problem(`unknown metric ${metric}`, suggest(metric, [...LIMIT_METRICS.keys()]));
    }
    const right = better === 'lower' ? '<=' : '>=';
    if (operator !== right) {
      return problem(`${metric} is better when it is ${better}: write ${right}, not ${operator}`);
    }
    const value = parseFraction(operand);
    if (value === undefined || value < 0) {
      return problem(`expected a number after ${right}, got ${show(operand)}`);
    }
    return [{ text: text.trim(), metric, operator: right, value }];
  });
}

/** Limits as a study was stored with them: they were checked when it was read. */
export function storedLimits(written: readonly string[]): readonly Limit[] {
  const problems = new Problems('the stored study', () => ({ line: 0, column: 0 }));
  const limits = readLimits(written, problems);
  problems.throwIfAny();
  return limits;
}
