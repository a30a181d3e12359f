import type { ServerResponse } from 'node:http';
import { AnswerText } from './answer-text.ts';
import type { EngineRequest } from './engine-request.ts';
import { sendJson, startStream } from './http-replies.ts';
import { metaInfo, metaStart } from './meta-info.ts';
import type { PromptTokens } from './prompt.ts';
import {
  BodyError,
  checkContext,
  parseObject,
  readPrompt,
  readRequestId,
  readSamplingParams,
  type Sampling,
} from './request-body.ts';
import type { Runtime } from './runtime.ts';
import { type AnswerStream, serveAnswer } from './serve-answer.ts';

/** Event of a native answer: cumulative text and ids, or only what is new. */
function nativeEvent(runtime: Runtime, incremental: boolean): AnswerStream['event'] {
  let start: string | undefined;
  return (request, answer, added) => {
    const first = start === undefined;
    start ??= metaStart(runtime, request);
    const { text, ids } = incremental ? added : answer;
    return `data: {"text":"${text}","output_ids":[${ids}],"meta_info":${metaInfo(runtime, request, start, first ? 'first' : 'later')}}\n\n`;
  };
}

/** `POST /generate`: SGLang's native endpoint, streaming or not. */
export function handleGenerate(runtime: Runtime, text: string, response: ServerResponse): void {
  const body = parseObject(text);
  if (body === undefined) {
    sendJson(response, 400, { error: { message: 'Request body is not valid JSON.' } });
    return;
  }
  const stream = body['stream'] === true;
  let prompt: PromptTokens;
  let sampling: Sampling;
  try {
    sampling = readSamplingParams(body['sampling_params']);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    sendNativeError(response, error.message);
    return;
  }
  try {
    const read = readPrompt(body['input_ids'] ?? body['text']);
    if (read === undefined) {
      throw new BodyError('Either text, input_ids or input_embeds should be provided.');
    }
    prompt = read;
    checkContext(prompt.ids.length, sampling.maxNewTokens, runtime.capacity.contextLength);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    refuse(response, stream, error.message);
    return;
  }
  const id = readRequestId(body['rid']);
  serveAnswer(
    runtime,
    response,
    { prompt, ...sampling, id },
    {
      stream,
      event: nativeEvent(runtime, runtime.launch.fields['incremental_streaming_output'] === true),
      lastEvents: () => 'data: [DONE]\n\n',
      whole: (request: EngineRequest, answer: AnswerText) =>
        `{"text":"${answer.text}","output_ids":[${answer.ids}],"meta_info":${metaInfo(runtime, request, metaStart(runtime, request), 'whole')}}`,
      refuse: () => {
        if (stream) {
          startStream(response);
          response.end(
            'data: {"error":{"message":"The request queue is full.","type":"service_unavailable","code":503,"retryable":true}}\n\ndata: [DONE]\n\n',
          );
        } else sendJson(response, 503, { error: { message: 'The request queue is full.' } });
      },
      errorEvent: (message) =>
        `data: {"error":{"message":${JSON.stringify(message)},"type":"internal_server_error","code":500,"retryable":false}}\n\n`,
    },
  );
}

function sendNativeError(response: ServerResponse, message: string): void {
  // Errors of sampling parameters come as a bare string, others as an object (captures).
  const error = message.startsWith('unknown field') ? message : { message };
  sendJson(response, 400, { error });
}

/** A refused prompt: 400, or for a stream an error event inside a 200 (captures). */
function refuse(response: ServerResponse, stream: boolean, message: string): void {
  if (!stream) {
    sendJson(response, 400, { error: { message } });
    return;
  }
  startStream(response);
  const error = { message, type: 'invalid_request_error', code: 400, retryable: false };
  response.end(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`);
}
