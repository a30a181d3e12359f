import { type Dialect, fullDialect } from './dialect.ts';
import { httpCall } from './http-call.ts';
import type { Api } from './load-run.ts';
import { noAnswer } from './network-failure.ts';
import { apiPaths, requestBody } from './request-body.ts';
import type { ServerAccess } from './server-probe.ts';

/** What to give up when a server refuses, most dispensable first; `key` is what its message names. */
const concessions: readonly { readonly key: string; readonly change: Partial<Dialect> }[] = [
  { key: 'continuous_usage_stats', change: { continuousUsage: false } },
  { key: 'ignore_eos', change: { ignoreEos: false } },
  { key: 'max_tokens', change: { lengthKey: 'max_completion_tokens' } },
  { key: 'stream_options', change: { streamUsage: false, continuousUsage: false } },
];

const REFUSALS = new Set([400, 422, 501]);
const PROBE_TIMEOUT_MS = 60_000;

/**
 * Finds the most that an OpenAI server takes, by requests of one token: strict servers refuse a
 * request with a key they do not know. What stays refused in every form is left to the load run,
 * whose records show the server's reason.
 */
export async function findDialect(
  server: ServerAccess & { readonly api: Api; readonly model: string },
  ignoreEos: boolean,
  signal?: AbortSignal,
): Promise<Dialect> {
  let dialect = fullDialect;
  const left = [...concessions];
  for (;;) {
    const shape = { ...server, ignoreEos, outputTokens: 1, stream: true, dialect };
    const answer = await httpCall({
      baseUrl: server.baseUrl,
      apiKey: server.apiKey,
      path: apiPaths[server.api],
      method: 'POST',
      body: requestBody(shape, { kind: 'text', text: 'Hello' }, 'nightsweep-dialect'),
      timeoutMs: PROBE_TIMEOUT_MS,
      signal,
    }).catch(noAnswer);
    signal?.throwIfAborted();
    if (answer === undefined || !REFUSALS.has(answer.status)) return dialect;
    const named = left.findIndex(({ key }) => answer.text.includes(key));
    const [concession] = left.splice(Math.max(named, 0), 1);
    if (concession === undefined) return fullDialect;
    dialect = { ...dialect, ...concession.change };
  }
}
