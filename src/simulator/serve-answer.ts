import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AnswerText } from './answer-text.ts';
import type { EngineRequest } from './engine-request.ts';
import type { StreamFault } from './faults.ts';
import { startStream } from './http-replies.ts';
import { numberOf } from './resolution.ts';
import type { Accepted, AnswerEnd, Runtime, Submission } from './runtime.ts';

/** What an endpoint makes of an answer. */
export interface AnswerStream {
  readonly stream: boolean;
  /** One event with what is new. */
  readonly event: (
    request: EngineRequest,
    answer: AnswerText,
    added: { readonly text: string; readonly ids: string },
  ) => string;
  /** Everything after the last output: usage, `[DONE]`. */
  readonly lastEvents: (request: EngineRequest) => string;
  /** The whole answer as JSON, when not streaming. */
  readonly whole: (request: EngineRequest, answer: AnswerText) => string;
  /** Answers that the queue is full. */
  readonly refuse: () => void;
  readonly errorEvent: (message: string) => string;
}

const lastEnds = new WeakMap<Socket, AnswerEnd>();

function rememberEnd(socket: Socket, { lastTokenAtMs = 0 }: EngineRequest): void {
  lastEnds.set(socket, { simulatedMs: lastTokenAtMs, wallMs: performance.now() });
}

/** Queues a request and serves its answer; a client that goes away aborts it. */
export function serveAnswer(
  runtime: Runtime,
  response: ServerResponse,
  submission: Omit<Submission, 'onNews'>,
  shape: AnswerStream,
): void {
  let answer: AnswerText | undefined;
  const interval = numberOf(runtime.launch.fields, 'stream_interval') ?? 1;
  let ended = false;
  const { socket } = response;
  const accepted: Accepted | undefined = runtime.submit({
    ...submission,
    previous: socket === null ? undefined : lastEnds.get(socket),
    onNews: (request) => {
      if (ended) return;
      answer ??= new AnswerText(request);
      // News comes from a later round of the scheduler, never from within submit().
      const fault = accepted?.fault;
      if (fault !== undefined && shape.stream && request.outputTokens >= fault.afterTokens) {
        ended = true;
        applyFault(runtime, response, request, fault, shape);
        return;
      }
      if (request.finish !== undefined) {
        ended = true;
        if (socket !== null) rememberEnd(socket, request);
      }
      if (shape.stream) writeNews(response, request, answer, shape, interval);
      else if (request.finish !== undefined) sendWhole(response, request, answer, shape);
    },
  });
  if (accepted === undefined) {
    shape.refuse();
    return;
  }
  response.on('close', () => {
    if (!ended) {
      ended = true;
      runtime.abort(accepted.request);
    }
  });
}

function writeNews(
  response: ServerResponse,
  request: EngineRequest,
  answer: AnswerText,
  shape: AnswerStream,
  interval: number,
): void {
  const due =
    interval <= 1 || request.finish !== undefined || request.outputTokens % interval === 1;
  if (!due || response.destroyed) return;
  const added = answer.catchUp();
  // SGLang sends the headers with the first chunk.
  if (!response.headersSent) startStream(response);
  const event = shape.event(request, answer, added);
  // Everything here is ASCII; latin1 spares the UTF-8 encoder on the hot path.
  if (request.finish === undefined) response.write(event, 'latin1');
  else response.end(event + shape.lastEvents(request), 'latin1');
}

function sendWhole(
  response: ServerResponse,
  request: EngineRequest,
  answer: AnswerText,
  shape: AnswerStream,
): void {
  answer.catchUp();
  const text = shape.whole(request, answer);
  response.writeHead(200, {
    server: 'uvicorn',
    'content-length': Buffer.byteLength(text),
    'content-type': 'application/json',
    vary: 'Origin',
  });
  response.end(text);
}

function applyFault(
  runtime: Runtime,
  response: ServerResponse,
  request: EngineRequest,
  { kind }: StreamFault,
  shape: AnswerStream,
): void {
  if (request.finish === undefined) runtime.abort(request);
  if (kind === 'freeze') return;
  if (kind === 'truncate') {
    response.destroy();
    return;
  }
  if (!response.headersSent) startStream(response);
  response.end(
    `${shape.errorEvent('Internal server error: CUDA error: an illegal memory access was encountered')}data: [DONE]\n\n`,
  );
}
