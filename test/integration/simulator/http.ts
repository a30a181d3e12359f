import { request } from 'node:http';
import { connect } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request; `onChunk` sees the body as it arrives. Rejects when the connection breaks. */
export function ask(
  url: string,
  {
    method = 'GET',
    body,
    headers = {},
    onChunk,
    signal,
  }: {
    method?: string;
    body?: unknown;
    headers?: Record<string, string>;
    onChunk?: (text: string) => void;
    signal?: AbortSignal;
  } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method, headers: { 'content-type': 'application/json', ...headers } };
    const sent = request(url, signal === undefined ? options : { ...options, signal }, (reply) => {
      let text = '';
      reply.setEncoding('utf8');
      reply.on('data', (chunk: string) => {
        text += chunk;
        onChunk?.(chunk);
      });
      reply.on('end', () => {
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: text });
      });
      reply.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
  });
}

/** Payloads of the `data:` lines of an event stream. */
export function events(stream: string): string[] {
  return stream
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
}

/** True when nothing listens on the port. */
export function refused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => {
      resolve(true);
    });
  });
}
