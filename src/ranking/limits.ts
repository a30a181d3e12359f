/** A condition on results, e.g. `p99_ttft_ms <= 4000`, with the text it was written as. */
export interface Limit {
  readonly text: string;
  readonly metric: string;
  readonly operator: '<=' | '>=';
  readonly value: number;
}

/** Limit on the lowest throughput over the profile's concurrencies, as a share of the baseline's. */
export const WORST_CONCURRENCY = 'worst_concurrency';

/** Whether a value meets a limit. */
export function meets({ operator, value }: Limit, figure: number): boolean {
  return operator === '<=' ? figure <= value : figure >= value;
}
