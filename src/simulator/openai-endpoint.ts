import type { ServerResponse } from 'node:http';
import type { AnswerText } from './answer-text.ts';
import type { EngineRequest } from './engine-request.ts';
import { sendOpenAiError, startStream } from './http-replies.ts';
import { type PromptTokens, promptFromText } from './prompt.ts';
import {
  asciiJson,
  type Body,
  BodyError,
  checkContext,
  parseObject,
  readMessages,
  readOpenAiSampling,
  readPrompt,
} from './request-body.ts';
import { textOf } from './resolution.ts';
import type { Runtime } from './runtime.ts';
import { serveAnswer } from './serve-answer.ts';

export type OpenAiKind = 'completions' | 'chat';

/** Parts of the answers that differ between completions and chat. */
interface Shape {
  readonly path: string;
  readonly object: string;
  readonly chunkObject: string;
  readonly handler: string;
  readonly needed: string;
  readonly defaultTokens: number;
  readonly promptOf: (body: Body) => PromptTokens | undefined;
  /** Choice of one chunk, `text` being what is new; `finish` is JSON. */
  readonly chunkChoice: (text: string, finish: string, matched: string) => string;
  readonly wholeChoice: (text: string, finish: string, matched: string) => string;
  /** Chunk before the first token, or nothing. */
  readonly firstChoice: string | undefined;
}

const SHAPES: Readonly<Record<OpenAiKind, Shape>> = {
  completions: {
    path: '/v1/completions',
    object: 'text_completion',
    chunkObject: 'text_completion',
    handler: 'openai_v1_completions',
    needed: 'prompt',
    defaultTokens: 16,
    promptOf: (body) => readPrompt(body['prompt']),
    chunkChoice: (text, finish, matched) =>
      `{"index":0,"text":"${text}","logprobs":null,"finish_reason":${finish},"matched_stop":${matched}}`,
    wholeChoice: (text, finish, matched) =>
      `{"index":0,"text":"${text}","logprobs":null,"finish_reason":${finish},"matched_stop":${matched}}`,
    firstChoice: undefined,
  },
  chat: {
    path: '/v1/chat/completions',
    object: 'chat.completion',
    chunkObject: 'chat.completion.chunk',
    handler: 'openai_v1_chat_completions',
    needed: 'messages',
    defaultTokens: 4096,
    promptOf: (body) => {
      const text = readMessages(body['messages']);
      return (
        readPrompt(body['input_ids']) ?? (text === undefined ? undefined : promptFromText(text))
      );
    },
    chunkChoice: (text, finish, matched) =>
      `{"index":0,"delta":{"reasoning_content":null,"content":"${text}"},"logprobs":null,"finish_reason":${finish},"matched_stop":${matched}}`,
    wholeChoice: (text, finish, matched) =>
      `{"index":0,"message":{"role":"assistant","content":"${text}","reasoning_content":null},"logprobs":null,"finish_reason":${finish},"matched_stop":${matched}}`,
    firstChoice:
      '{"index":0,"delta":{"reasoning_content":null,"role":"assistant","content":""},"logprobs":null,"finish_reason":null,"matched_stop":null}',
  },
};

interface Options {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly continuousUsage: boolean;
  readonly cacheReport: boolean;
  readonly model: string;
}

function readOptions(runtime: Runtime, body: Body): Options {
  const { fields } = runtime.launch;
  const streamOptions = (body['stream_options'] ?? {}) as Body;
  return {
    stream: body['stream'] === true,
    includeUsage:
      streamOptions['include_usage'] === true ||
      fields['stream_response_default_include_usage'] === true,
    continuousUsage: streamOptions['continuous_usage_stats'] === true,
    cacheReport: fields['enable_cache_report'] === true,
    model:
      typeof body['model'] === 'string'
        ? body['model']
        : (textOf(fields, 'served_model_name') ?? ''),
  };
}

function usage(request: EngineRequest, { cacheReport }: Options): string {
  const { promptTokens, outputTokens, cachedTokens } = request;
  const details = cacheReport ? `{"cached_tokens":${cachedTokens}}` : 'null';
  return `{"prompt_tokens":${promptTokens},"total_tokens":${promptTokens + outputTokens},"completion_tokens":${outputTokens},"prompt_tokens_details":${details},"reasoning_tokens":0,"completion_tokens_details":null}`;
}

/** Usage of the chunk after the last token: completions leave the empty details out (captures). */
function lastUsage(request: EngineRequest, options: Options, chat: boolean): string {
  const all = usage(request, options);
  if (chat) return all;
  const short = all.replace(',"completion_tokens_details":null', '');
  return short.replace('"prompt_tokens_details":null,', '');
}

function finishWords({ finish }: EngineRequest): { reason: string; matched: string } {
  if (finish === undefined) return { reason: 'null', matched: 'null' };
  return {
    reason: `"${finish.type}"`,
    matched: finish.type === 'stop' ? String(finish.matched) : 'null',
  };
}

/** FastAPI's validation error as SGLang words it. */
function sendValidationError(
  response: ServerResponse,
  { path, handler }: Shape,
  error: string,
): void {
  sendOpenAiError(
    response,
    400,
    `1 validation error:\n  ${error}\n\n  File "/opt/sglang/python/sglang/srt/entrypoints/http_server.py", line 1860, in ${handler}\n    POST ${path} [${error}]`,
    'Bad Request',
  );
}

/** `POST /v1/completions` and `POST /v1/chat/completions`. */
export function handleOpenAi(
  kind: OpenAiKind,
  runtime: Runtime,
  text: string,
  response: ServerResponse,
): void {
  const shape = SHAPES[kind];
  const body = parseObject(text);
  if (body === undefined) {
    const error =
      "{'type': 'json_invalid', 'loc': ('body', 1), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': 'unexpected character, expected a string key'}}";
    sendValidationError(response, shape, error);
    return;
  }
  const prompt = shape.promptOf(body);
  if (prompt === undefined) {
    const error = `{'type': 'missing', 'loc': ('body', '${shape.needed}'), 'msg': 'Field required', 'input': ${JSON.stringify(body).replaceAll('"', "'")}}`;
    sendValidationError(response, shape, error);
    return;
  }
  try {
    const sampling = readOpenAiSampling(body, shape.defaultTokens);
    checkContext(prompt.ids.length, sampling.maxNewTokens, runtime.capacity.contextLength);
    serve(runtime, response, shape, readOptions(runtime, body), { prompt, ...sampling });
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    sendOpenAiError(response, 400, error.message, 'BadRequestError');
  }
}

function serve(
  runtime: Runtime,
  response: ServerResponse,
  shape: Shape,
  options: Options,
  submission: { prompt: PromptTokens; maxNewTokens: number; ignoreEos: boolean },
): void {
  const created = Math.floor(Date.now() / 1000);
  const model = asciiJson(options.model);
  const chunk = (request: EngineRequest, choice: string, usageText: string): string =>
    `data: {"id":"${request.id}","object":"${shape.chunkObject}","created":${created},"model":${model},"choices":[${choice}]${usageText}}\n\n`;
  const chat = shape.firstChoice !== undefined;
  const usageOf = (request: EngineRequest): string => {
    if (options.continuousUsage) return `,"usage":${usage(request, options)}`;
    return chat ? '' : ',"usage":null';
  };
  let first = true;
  serveAnswer(runtime, response, submission, {
    stream: options.stream,
    event: (request, _answer, added) => {
      const { reason, matched } = finishWords(request);
      const opening = first && chat ? chunk(request, shape.firstChoice, usageOf(request)) : '';
      first = false;
      if (chat && request.finish !== undefined) {
        const text =
          added.text === ''
            ? ''
            : chunk(request, shape.chunkChoice(added.text, 'null', 'null'), usageOf(request));
        const last = `{"index":0,"delta":{"reasoning_content":null},"logprobs":null,"finish_reason":${reason},"matched_stop":${matched}}`;
        return opening + text + chunk(request, last, usageOf(request));
      }
      return (
        opening + chunk(request, shape.chunkChoice(added.text, reason, matched), usageOf(request))
      );
    },
    lastEvents: (request) => {
      const last = options.includeUsage
        ? chunk(request, '', `,"usage":${lastUsage(request, options, chat)}`)
        : '';
      return `${last}data: [DONE]\n\n`;
    },
    whole: (request: EngineRequest, answer: AnswerText) => {
      const { reason, matched } = finishWords(request);
      const version = asciiJson(textOf(runtime.launch.fields, 'weight_version') ?? 'default');
      return `{"id":"${request.id}","object":"${shape.object}","created":${created},"model":${model},"choices":[${shape.wholeChoice(answer.text, reason, matched)}],"usage":${usage(request, options)},"metadata":{"weight_version":${version},"weight_versions":[{"version":${version},"start":0,"end":${request.outputTokens}}]}}`;
    },
    refuse: () => {
      if (options.stream) {
        startStream(response);
        response.end(
          'data: {"error": {"object": "error", "message": "The request queue is full.", "type": "SERVICE_UNAVAILABLE", "param": null, "code": 503}}\n\ndata: [DONE]\n\n',
        );
      } else sendOpenAiError(response, 503, 'The request queue is full.', '503');
    },
    errorEvent: (message) =>
      `data: ${JSON.stringify({ error: { object: 'error', message, type: 'InternalServerError', param: null, code: 500 } })}\n\n`,
  });
}
