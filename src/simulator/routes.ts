import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { handleGenerate } from './generate-endpoint.ts';
import { readBody, sendJson, sendText } from './http-replies.ts';
import { loads, modelInfo, models, serverInfo } from './info-endpoints.ts';
import { metricsText } from './metrics-text.ts';
import { handleOpenAi } from './openai-endpoint.ts';
import { promptFromIds } from './prompt.ts';
import { parseObject } from './request-body.ts';
import { textOf } from './resolution.ts';
import type { Runtime } from './runtime.ts';

export type Phase = 'warming' | 'ready' | 'draining';

/** What the routes need of the server around them. */
export interface ServerView {
  readonly phase: Phase;
  readonly runtime: Runtime;
}

const FLUSHED =
  'Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n';
const HEALTH_WALL_MS = 1000;
const FLUSH_POLL_MS = 5;
/** Paths that need no API key (sglang.md 4.7). */
const OPEN_PATHS = ['/health', '/metrics', '/ping'];

type Handler = (
  view: ServerView,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
) => void | Promise<void>;

/** 503 before and after service; otherwise generates one token and answers when it is there. */
function health({ phase, runtime }: ServerView, response: ServerResponse): void {
  if (phase !== 'ready') {
    sendText(response, 503, '');
    return;
  }
  // A real /health waits a second; scaled like everything else. While others run it asks nothing.
  const probing = runtime.inFlight === 0 && !runtime.frozen;
  let alive = !runtime.frozen;
  if (probing) {
    alive = false;
    const accepted = runtime.submitProbe(promptFromIds([0]), () => {
      alive = true;
    });
    response.on('close', () => {
      if (accepted.finish === undefined) runtime.abort(accepted);
    });
  }
  const cancel = runtime.clock.after(HEALTH_WALL_MS, () => {
    if (alive) sendText(response, 200, '');
    else
      runtime.clock.after(19 * HEALTH_WALL_MS, () => {
        sendText(response, alive ? 200 : 503, '');
      });
  });
  response.on('close', cancel);
}

async function flushCache(
  { runtime }: ServerView,
  url: URL,
  response: ServerResponse,
): Promise<void> {
  const timeoutMs = Number(url.searchParams.get('timeout') ?? 0) * 1000;
  const deadline = runtime.clock.nowMs() + timeoutMs;
  while (runtime.inFlight > 0 && runtime.clock.nowMs() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, FLUSH_POLL_MS));
  }
  if (runtime.flush()) sendText(response, 200, FLUSHED);
  else if (timeoutMs > 0) sendText(response, 400, 'Timed out waiting for idle state.\n');
  else sendText(response, 400, 'Flush cache failed.\n');
}

async function abortRequests(
  { runtime }: ServerView,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = parseObject(await readBody(request)) ?? {};
  const rid = typeof body['rid'] === 'string' ? body['rid'] : '';
  const all = body['abort_all'] === true;
  for (const live of [...runtime.live]) {
    if (all || (rid !== '' && live.id.startsWith(rid))) runtime.abort(live, 'Abort requested');
  }
  sendText(response, 200, '');
}

function deprecated(runtime: Runtime, old: string, current: string): void {
  runtime.log.main(
    `Endpoint '${old}' is deprecated and will be removed in a future version. Please use '${current}' instead.`,
  );
}

const json =
  (body: (runtime: Runtime) => object): Handler =>
  ({ runtime }, _url, _request, response) => {
    sendJson(response, 200, body(runtime));
  };

const post =
  (handle: (runtime: Runtime, text: string, response: ServerResponse) => void): Handler =>
  async ({ runtime }, _url, request, response) => {
    handle(runtime, await readBody(request), response);
  };

const ROUTES: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  [
    'GET /health',
    (view, _url, _request, response) => {
      health(view, response);
    },
  ],
  [
    'GET /health_generate',
    (view, _url, _request, response) => {
      health(view, response);
    },
  ],
  [
    'GET /ping',
    (_view, _url, _request, response) => {
      sendText(response, 200, '');
    },
  ],
  ['GET /v1/models', json(models)],
  ['GET /model_info', json(modelInfo)],
  [
    'GET /get_model_info',
    json((runtime) => {
      deprecated(runtime, '/get_model_info', '/model_info');
      return modelInfo(runtime);
    }),
  ],
  ['GET /server_info', json(serverInfo)],
  [
    'GET /get_server_info',
    json((runtime) => {
      deprecated(runtime, '/get_server_info', '/server_info');
      return serverInfo(runtime);
    }),
  ],
  ['GET /v1/loads', json(loads)],
  ['GET /flush_cache', (view, url, _request, response) => flushCache(view, url, response)],
  ['POST /flush_cache', (view, url, _request, response) => flushCache(view, url, response)],
  [
    'POST /abort_request',
    (view, _url, request, response) => abortRequests(view, request, response),
  ],
  [
    'POST /freeze_gc',
    (_view, _url, _request, response) => {
      sendText(response, 200, 'Garbage collection frozen.\n');
    },
  ],
  ['POST /generate', post(handleGenerate)],
  [
    'POST /v1/completions',
    post((runtime, text, response) => {
      handleOpenAi('completions', runtime, text, response);
    }),
  ],
  [
    'POST /v1/chat/completions',
    post((runtime, text, response) => {
      handleOpenAi('chat', runtime, text, response);
    }),
  ],
]);

function authorized(
  { launch: { fields } }: Runtime,
  path: string,
  request: IncomingMessage,
): boolean {
  const keys = [textOf(fields, 'api_key'), textOf(fields, 'admin_api_key')].filter(
    (key) => key !== undefined,
  );
  if (keys.length === 0 || OPEN_PATHS.some((open) => path.startsWith(open))) return true;
  return keys.some((key) => request.headers.authorization === `Bearer ${key}`);
}

/** Answers one request as SGLang would. */
export function route(view: ServerView, request: IncomingMessage, response: ServerResponse): void {
  const { runtime } = view;
  const url = new URL(request.url ?? '/', 'http://localhost');
  const method = request.method ?? 'GET';
  const client = `${request.socket.remoteAddress ?? ''}:${request.socket.remotePort ?? 0}`;
  response.on('finish', () => {
    runtime.log.access(
      client,
      method,
      url.pathname,
      response.statusCode,
      STATUS_CODES[response.statusCode] ?? '',
    );
  });
  if (!authorized(runtime, url.pathname, request)) {
    sendJson(response, 401, { error: 'Unauthorized' });
    return;
  }
  if (
    method === 'GET' &&
    url.pathname === '/metrics' &&
    runtime.launch.fields['enable_metrics'] === true
  ) {
    sendText(response, 200, metricsText(runtime), 'text/plain; version=0.0.4; charset=utf-8');
    return;
  }
  const handler = ROUTES.get(`${method} ${url.pathname}`);
  if (handler === undefined) {
    const known = [...ROUTES.keys()].some((key) => key.endsWith(` ${url.pathname}`));
    sendJson(response, known ? 405 : 404, { detail: known ? 'Method Not Allowed' : 'Not Found' });
    return;
  }
  Promise.resolve(handler(view, url, request, response)).catch((error: unknown) => {
    runtime.log.raw(error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (!response.headersSent) sendText(response, 500, 'Internal Server Error');
    else response.destroy();
  });
}
