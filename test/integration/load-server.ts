import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request as the scripted server sees it. */
export interface Received {
  readonly index: number;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

export type Behaviour = (request: Received, response: ServerResponse) => Promise<void> | void;

/** A real HTTP server on a free port that answers as the test says and remembers what it got. */
export interface ScriptedServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly http: Server;
  readonly received: Received[];
  /** Most requests being answered at one time. */
  peakInFlight(): number;
  sockets(): number;
}

export async function scriptedServer(behave: Behaviour): Promise<ScriptedServer> {
  const received: Received[] = [];
  let inFlight = 0;
  let peak = 0;
  let sockets = 0;
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const request = { index: received.length, path: message.url ?? '', body };
    received.push(request);
    inFlight += 1;
    peak = Math.max(peak, inFlight);
    response.on('close', () => {
      inFlight -= 1;
    });
    await behave(request, response);
  };
  const http = createServer((message, response) => {
    // A client that hangs up in the middle is part of some tests.
    answer(message, response).catch(() => response.destroy());
  });
  http.on('connection', () => {
    sockets += 1;
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    http,
    received,
    peakInFlight: () => peak,
    sockets: () => sockets,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

export function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
}

export function sendEvent(response: ServerResponse, event: unknown): void {
  response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
}

export interface StreamShape {
  readonly chunks: number;
  readonly perChunk: number;
  readonly gapMs: number;
}

/** SGLang's native stream: cumulative text, tokens so far in every event. */
export function nativeStream({ chunks, perChunk, gapMs }: StreamShape): Behaviour {
  return async ({ path }, response) => {
    if (path !== '/generate') {
      response.end();
      return;
    }
    startStream(response);
    for (let i = 1; i <= chunks; i += 1) {
      if (gapMs > 0) await sleep(gapMs);
      if (response.destroyed) return;
      const finish_reason = i === chunks ? { type: 'length', length: chunks * perChunk } : null;
      const meta_info = { finish_reason, prompt_tokens: 9, completion_tokens: i * perChunk };
      sendEvent(response, { text: 'word '.repeat(i * perChunk), meta_info });
    }
    sendEvent(response, '[DONE]');
    response.end();
  };
}

/** OpenAI completions with usage on every chunk, on the last only, or not at all. */
export function openAiStream(
  { chunks, perChunk, gapMs }: StreamShape,
  usageOn: 'chunk' | 'last' | 'none',
): Behaviour {
  return async (_request, response) => {
    startStream(response);
    const usage = (tokens: number) => ({ usage: { prompt_tokens: 9, completion_tokens: tokens } });
    for (let i = 1; i <= chunks; i += 1) {
      if (gapMs > 0) await sleep(gapMs);
      const choice = { index: 0, text: 'word', finish_reason: i === chunks ? 'length' : null };
      sendEvent(response, {
        choices: [choice],
        ...(usageOn === 'chunk' ? usage(i * perChunk) : {}),
      });
    }
    if (usageOn === 'last') sendEvent(response, { choices: [], ...usage(chunks * perChunk) });
    sendEvent(response, '[DONE]');
    response.end();
  };
}
