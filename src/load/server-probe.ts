import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { httpCall } from './http-call.ts';
import type { Api, Prompt } from './load-run.ts';
import { NoAnswerError, noAnswer } from './network-failure.ts';
import { apiPaths, requestBody } from './request-body.ts';
import { errorMessage, isObject, numberOf, parseJson } from './stream-error.ts';

/** How to reach a server. */
export interface ServerAccess {
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
}

/** What a server says about itself. */
export interface ServerInfo {
  /** SGLang with its own endpoints, or any OpenAI-compatible server. */
  readonly kind: 'native' | 'openai';
  readonly version: string | null;
  /** Name that OpenAI requests must give. */
  readonly model: string;
  /** Server seconds per wall second: above 1 for a simulated server that runs faster. */
  readonly timeScale: number;
  /** Requests it really runs at a time (the smallest over its workers); null when it does not say. */
  readonly runningLimit: number | null;
  /** The whole answer of `/server_info`, secrets included: redact before storing. Null for OpenAI servers. */
  readonly raw: Readonly<Record<string, unknown>> | null;
}

const INFO_TIMEOUT_MS = 10_000;

/**
 * Asks the server what it is. `/server_info` (older SGLang: `/get_server_info`) tells a native
 * server, else `/v1/models` an OpenAI-compatible one. Throws NoAnswerError when neither answers.
 */
export async function fetchServerInfo(
  access: ServerAccess,
  signal?: AbortSignal,
): Promise<ServerInfo> {
  for (const path of ['/server_info', '/get_server_info']) {
    const answer = await getJson(access, path, signal);
    if (isObject(answer.json) && answer.json['model_path'] !== undefined) {
      return nativeInfo(answer.json);
    }
    if (answer.status === 401 || answer.status === 403) throw refusedKey(access, answer.status);
  }
  const models = await getJson(access, '/v1/models', signal);
  if (models.status === 401 || models.status === 403) throw refusedKey(access, models.status);
  const list: unknown = isObject(models.json) ? models.json['data'] : undefined;
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  if (isObject(first) && typeof first['id'] === 'string') {
    const model = first['id'];
    return { kind: 'openai', version: null, model, timeScale: 1, runningLimit: null, raw: null };
  }
  throw new NoAnswerError(
    `${access.baseUrl} answers, but neither /server_info nor /v1/models (HTTP ${models.status})`,
    { hint: 'the base URL must be that of an SGLang or an OpenAI-compatible server' },
  );
}

function nativeInfo(info: Record<string, unknown>): ServerInfo {
  const simulator = info['nightsweep_simulator'];
  const speed = isObject(simulator) ? numberOf(simulator['speed']) : undefined;
  const states: unknown = info['internal_states'];
  const limits = (Array.isArray(states) ? (states as unknown[]) : [])
    .map((state) => (isObject(state) ? runningLimitOf(state) : undefined))
    .filter((limit) => limit !== undefined);
  const [served, path] = [info['served_model_name'], info['model_path']];
  return {
    kind: 'native',
    version: typeof info['version'] === 'string' ? info['version'] : null,
    model: typeof served === 'string' ? served : String(path),
    timeScale: speed ?? 1,
    runningLimit: limits.length === 0 ? null : Math.min(...limits),
    raw: info,
  };
}

/** sglang.md 0.4: what really applies stands here, `max_running_requests` is only what was asked. */
function runningLimitOf(state: Record<string, unknown>): number | undefined {
  return numberOf(state['effective_max_running_requests_per_dp']);
}

/** How emptying the prefix cache went; `message` is what the server said last. */
export interface FlushResult {
  readonly flushed: boolean;
  readonly attempts: number;
  readonly message: string;
}

const FLUSH_ATTEMPTS = 8;
/** The server waits this long for its queue to run empty before it answers 400. */
const FLUSH_WAIT_SECONDS = 5;
const FLUSH_PAUSE_MS = 100;

/**
 * Empties the prefix cache of a native server. Right after the last answer the scheduler is not
 * idle yet and answers 400: tried again with growing pauses (field report C10). Never throws for a
 * server that refuses or is gone; the caller marks the measurement.
 */
export async function flushCache(
  access: ServerAccess,
  clock: Clock,
  signal?: AbortSignal,
): Promise<FlushResult> {
  let message = '';
  for (let attempts = 1; attempts <= FLUSH_ATTEMPTS; attempts += 1) {
    if (attempts > 1) await clock.sleep(FLUSH_PAUSE_MS * 2 ** (attempts - 2), signal);
    const answer = await httpCall({
      ...access,
      path: `/flush_cache?timeout=${FLUSH_WAIT_SECONDS}`,
      method: 'POST',
      timeoutMs: FLUSH_WAIT_SECONDS * 2000,
      signal,
    }).catch((error: unknown) => {
      noAnswer(error);
      return { status: 0, text: String(error) };
    });
    signal?.throwIfAborted();
    message = answer.text.trim();
    if (answer.status === 200) return { flushed: true, attempts, message };
    const hopeless = [401, 403, 404, 405].includes(answer.status);
    if (hopeless) return { flushed: false, attempts, message: `HTTP ${answer.status} ${message}` };
  }
  return { flushed: false, attempts: FLUSH_ATTEMPTS, message };
}

/** Ends whatever a native server is working on; false when it did not accept that. */
export async function abortAll(access: ServerAccess, signal?: AbortSignal): Promise<boolean> {
  const body = JSON.stringify({ rid: '', abort_all: true });
  const call = { ...access, path: '/abort_request', method: 'POST' as const, body, signal };
  const answer = await httpCall({ ...call, timeoutMs: INFO_TIMEOUT_MS });
  return answer.status === 200;
}

export interface CompletionRequest extends ServerAccess {
  readonly api: Api;
  readonly model: string;
  readonly prompt: Prompt;
  readonly outputTokens: number;
  readonly ignoreEos: boolean;
  readonly timeoutMs: number;
}

export interface Completion {
  readonly text: string;
  /** Server's own count; null when it does not say. */
  readonly outputTokens: number | null;
  readonly finishReason: string | null;
  /** Output tokens per verify step; null without speculation. */
  readonly acceptLength: number | null;
}

/**
 * One real completion without streaming: the proof that a server is ready, and the smoke test.
 * Throws NoAnswerError when the server refuses or answers with an error (RefusedKeyError where it is
 * our key), the transport's error when it cannot be reached or takes longer than `timeoutMs`.
 */
export async function completeOnce(
  request: CompletionRequest,
  signal?: AbortSignal,
): Promise<Completion> {
  const body = requestBody(
    { ...request, stream: false },
    request.prompt,
    `nightsweep-${Date.now()}`,
  );
  const { baseUrl, apiKey, timeoutMs } = request;
  const path = apiPaths[request.api];
  const call = { baseUrl, apiKey, path, method: 'POST' as const, body, timeoutMs, signal };
  const answer = await httpCall(call);
  const json = parseJson(answer.text);
  if (answer.status === 401 || answer.status === 403) throw refusedKey(request, answer.status);
  if (answer.status !== 200 || !isObject(json) || json['error'] !== undefined) {
    const reason = errorMessage(json ?? answer.text).slice(0, 500);
    throw new NoAnswerError(`a test completion failed with HTTP ${answer.status}: ${reason}`);
  }
  return request.api === 'native' ? nativeCompletion(json) : openAiCompletion(json);
}

function nativeCompletion(json: Record<string, unknown>): Completion {
  const meta = isObject(json['meta_info']) ? json['meta_info'] : {};
  const finish = isObject(meta['finish_reason'])
    ? meta['finish_reason']['type']
    : meta['finish_reason'];
  const outputTokens = numberOf(meta['completion_tokens']) ?? null;
  const verifyCount = numberOf(meta['spec_verify_ct']) ?? 0;
  return {
    text: typeof json['text'] === 'string' ? json['text'] : '',
    outputTokens,
    finishReason: typeof finish === 'string' ? finish : null,
    acceptLength: outputTokens !== null && verifyCount > 0 ? outputTokens / verifyCount : null,
  };
}

function openAiCompletion(json: Record<string, unknown>): Completion {
  const choices: unknown = json['choices'];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const fields = isObject(choice) ? choice : {};
  const message = isObject(fields['message']) ? fields['message'] : {};
  const parts = [fields['text'], message['reasoning_content'], message['content']];
  const usage = isObject(json['usage']) ? json['usage'] : {};
  return {
    text: parts.filter((part) => typeof part === 'string').join(''),
    outputTokens: numberOf(usage['completion_tokens']) ?? null,
    finishReason: typeof fields['finish_reason'] === 'string' ? fields['finish_reason'] : null,
    acceptLength: null,
  };
}

async function getJson(
  access: ServerAccess,
  path: string,
  signal: AbortSignal | undefined,
): Promise<{ status: number; json: unknown }> {
  try {
    const answer = await httpCall({ ...access, path, timeoutMs: INFO_TIMEOUT_MS, signal });
    return {
      status: answer.status,
      json: answer.status === 200 ? parseJson(answer.text) : undefined,
    };
  } catch (cause) {
    signal?.throwIfAborted();
    // Said well already, e.g. of a base URL that is none.
    if (cause instanceof UserError) throw cause;
    throw new NoAnswerError(`no answer from ${access.baseUrl}${path}`, {
      hint: 'is the server running there?',
      cause,
    });
  }
}

/** The server wants another API key than ours: asking again is useless. */
export class RefusedKeyError extends NoAnswerError {}

function refusedKey(access: ServerAccess, status: number): RefusedKeyError {
  return new RefusedKeyError(`${access.baseUrl} refuses the request (HTTP ${status})`, {
    hint:
      access.apiKey === undefined
        ? 'the server wants an API key: name the environment variable that holds it'
        : 'the API key is not the one the server expects',
  });
}
