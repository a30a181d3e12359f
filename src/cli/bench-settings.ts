import type { BenchOptions } from '../load/bench.ts';
import type { ServerInfo } from '../load/server-probe.ts';
import type { BenchFlags } from './bench-declaration.ts';

/** How a server is measured: what was asked for, and what the server says of itself. */
export function benchSettings(
  flags: BenchFlags,
  concurrencies: readonly number[],
  server: ServerInfo,
): Omit<BenchOptions, 'baseUrl' | 'apiKey' | 'salt'> {
  const { turns, pause: pauseSeconds, turnTokens, thinkTime } = flags;
  return {
    concurrencies,
    rates: flags.rate,
    process: flags.arrivals,
    burstiness: flags.burstiness,
    model: server.model,
    timeScale: server.timeScale,
    runningLimit: server.runningLimit,
    workload: {
      prompts: flags.prompts,
      inputTokens: flags.inputTokens,
      outputTokens: flags.outputTokens,
      ignoreEos: flags.stopAtEos !== true,
      api: flags.api ?? (server.kind === 'native' ? 'native' : 'openai-completions'),
      requests: flags.requests,
      seed: flags.seed,
      tokenId: flags.tokenId,
      idRange: flags.idRange,
      sharedPrefixFraction: flags.sharedPrefix,
      session: { turns, pauseSeconds, turnTokens },
      ...(thinkTime === undefined
        ? {}
        : { arrivals: { kind: 'closed', thinkTimeMs: thinkTime * 1000 } }),
    },
    warmUpRequests: flags.warmUp,
    warmUpLimitSeconds: flags.warmUpLimit,
    requestTimeoutSeconds: flags.requestTimeout,
    pointTimeoutSeconds: flags.pointTimeout,
    stallSeconds: flags.stall,
    maxFailureFraction: flags.maxFailures,
    slos: flags.slo,
  };
}
