/** What `/metrics` says of the configuration; absent where it does not. */
export interface MetricsValues {
  /** Tokens the KV pool of one worker holds. */
  readonly kvTokens?: number;
  readonly pageSize?: number;
}

/** Gauges of SGLang 0.5.2 and later (observability/metrics_collector.py at 0.5.23); vLLM-style names are not read. */
const GAUGES = {
  kvTokens: 'sglang:max_total_num_tokens',
  pageSize: 'sglang:page_size',
} as const satisfies Record<keyof MetricsValues, string>;

/** Reads the gauges that tell the configuration from the text of a Prometheus endpoint. */
export function metricsValues(text: string): MetricsValues {
  const found = Object.entries(GAUGES).flatMap(([name, gauge]) => {
    const line = text
      .split('\n')
      .find((one) => one.startsWith(`${gauge}{`) || one.startsWith(`${gauge} `));
    const value = Number(line?.trim().split(/\s+/).at(-1));
    return line !== undefined && Number.isFinite(value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}
