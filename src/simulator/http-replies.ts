import type { IncomingMessage, ServerResponse } from 'node:http';

/** Headers that uvicorn puts on every answer. */
const COMMON = { server: 'uvicorn', vary: 'Origin' } as const;

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...COMMON,
    'content-length': Buffer.byteLength(text),
    'content-type': 'application/json',
  });
  response.end(text);
}

/** Answers with text, or with nothing. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type?: string,
): void {
  response.writeHead(status, {
    ...COMMON,
    'content-length': Buffer.byteLength(text),
    ...(type === undefined ? {} : { 'content-type': type }),
  });
  response.end(text);
}

/** Starts an event stream. */
export function startStream(response: ServerResponse): void {
  response.writeHead(200, { ...COMMON, 'content-type': 'text/event-stream; charset=utf-8' });
}

/** Error body of the OpenAI endpoints. */
export function sendOpenAiError(
  response: ServerResponse,
  code: number,
  message: string,
  type: string,
): void {
  sendJson(response, code, { object: 'error', message, type, param: null, code });
}

/** Reads a whole request body. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
