import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/*
 * A server that answers at exactly known times and writes down what it really did: the truth that
 * load generators are held against. Chunk i of a stream is due at arrival + ttftMs + i x gap,
 * whatever happened to the chunks before it. Prints its port on one line.
 *
 *   tsx truth-server.ts TTFT_MS TOKENS_PER_SECOND TOKENS_PER_CHUNK
 */

const [ttftMs = 100, tokensPerSecond = 200, perChunk = 1] = process.argv.slice(2).map(Number);
const gapMs = (1000 / tokensPerSecond) * perChunk;
const PROMPT_TOKENS = 100;
const ID = 'cmpl-0123456789abcdef0123456789abcdef';

/** What really happened to one request, epoch ms. */
interface Truth {
  readonly arrivedAtMs: number;
  firstWriteAtMs: number;
  lastWriteAtMs: number;
  tokens: number;
  readonly chunks: number;
}

interface Stream {
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly frames: readonly Buffer[];
  readonly truth: Truth;
  readonly dueFromMs: number;
  readonly tokens: number;
  next: number;
}

type Shape = 'native' | 'completions' | 'chat';
type Usage = 'none' | 'last' | 'every';

const truths: Truth[] = [];
const streams = new Set<Stream>();
const now = (): number => performance.timeOrigin + performance.now();

/** One HTTP chunk around one event. */
function frame(...events: (object | string)[]): Buffer {
  const text = events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

const prepared = new Map<string, readonly Buffer[]>();

/** All frames of an answer; the same for every request of its shape, so they are made once. */
function framesOf(shape: Shape, usage: Usage, tokens: number): readonly Buffer[] {
  const key = `${shape}/${usage}/${tokens}`;
  const known = prepared.get(key);
  if (known !== undefined) return known;
  const frames: Buffer[] = [];
  for (let done = Math.min(perChunk, tokens), last = 0; last < tokens; ) {
    const text = ' word'.repeat(done - last);
    const finish = done === tokens ? 'length' : null;
    const count = { prompt_tokens: PROMPT_TOKENS, completion_tokens: done };
    if (shape === 'native') {
      const finish_reason = finish === null ? null : { type: finish, length: done };
      const meta_info = { id: ID, finish_reason, ...count, cached_tokens: 0 };
      frames.push(frame({ text: ' word'.repeat(done), meta_info }));
    } else {
      const choice = shape === 'chat' ? { delta: { content: text } } : { text };
      const object = shape === 'chat' ? 'chat.completion.chunk' : 'text_completion';
      const choices = [{ index: 0, ...choice, logprobs: null, finish_reason: finish }];
      const total = { ...count, total_tokens: PROMPT_TOKENS + done };
      const event = { id: ID, object, created: 1_796_062_394, model: 'truth', choices };
      frames.push(frame(usage === 'every' ? { ...event, usage: total } : event));
      if (finish !== null && usage !== 'none') {
        frames.push(frame({ ...event, choices: [], usage: total }));
      }
    }
    last = done;
    done = Math.min(done + perChunk, tokens);
  }
  prepared.set(key, frames);
  return frames;
}

function numberIn(body: Record<string, unknown>, ...names: string[]): number {
  const params = (body['sampling_params'] ?? {}) as Record<string, unknown>;
  for (const name of names) {
    const value = body[name] ?? params[name];
    if (typeof value === 'number') return value;
  }
  return 16;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  arrivedAtMs: number,
): Promise<void> {
  const path = request.url?.split('?')[0] ?? '';
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const json = (value: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  if (path === '/prepare') {
    // Making frames takes longer than a gap: not while a tool is measured.
    const tokens = Number(new URL(request.url ?? '', 'http://x').searchParams.get('tokens'));
    for (const shape of ['native', 'completions', 'chat'] as const) {
      for (const usage of ['none', 'last', 'every'] as const) framesOf(shape, usage, tokens);
    }
    json({});
    return;
  }
  if (path === '/truth') {
    json(truths.splice(0));
    return;
  }
  if (path === '/v1/models') {
    json({ object: 'list', data: [{ id: 'truth', object: 'model', owned_by: 'bench' }] });
    return;
  }
  if (path === '/server_info' || path === '/get_server_info' || path === '/model_info') {
    json({ model_path: 'truth', version: '0.5.23', internal_states: [{}] });
    return;
  }
  const shapes: Record<string, Shape> = {
    '/generate': 'native',
    '/v1/completions': 'completions',
    '/v1/chat/completions': 'chat',
  };
  const shape = shapes[path];
  if (shape === undefined) {
    response.writeHead(path.startsWith('/health') || path === '/flush_cache' ? 200 : 404).end();
    return;
  }
  const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
  const tokens = numberIn(body, 'max_completion_tokens', 'max_tokens', 'max_new_tokens');
  const options = body['stream_options'] as Record<string, unknown> | undefined;
  const usage: Usage =
    options?.['continuous_usage_stats'] === true
      ? 'every'
      : options?.['include_usage'] === true
        ? 'last'
        : 'none';
  const frames = framesOf(shape, usage, tokens);
  const chunks = Math.ceil(tokens / perChunk);
  const truth = { arrivedAtMs, firstWriteAtMs: 0, lastWriteAtMs: 0, tokens: 0, chunks };
  truths.push(truth);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  const { socket } = response;
  if (socket === null) return;
  const dueFromMs = arrivedAtMs + ttftMs;
  const stream = { socket, response, frames, truth, dueFromMs, tokens, next: 0 };
  streams.add(stream);
  response.on('close', () => streams.delete(stream));
}

/** Writes what is due. Frames go to the socket directly: the response would cost twice as much. */
function tick(): void {
  const at = now();
  for (const stream of streams) {
    const { truth, frames } = stream;
    while (stream.next < truth.chunks && stream.dueFromMs + stream.next * gapMs <= at) {
      const frameOfChunk = frames[stream.next];
      // By the clock itself, not by the start of the tick: writing to all the others takes its time.
      if (stream.next === 0) truth.firstWriteAtMs = now();
      if (stream.next === truth.chunks - 1) truth.lastWriteAtMs = now();
      if (frameOfChunk !== undefined) stream.socket.write(frameOfChunk);
      stream.next += 1;
      truth.tokens = Math.min(stream.next * perChunk, stream.tokens);
    }
    if (stream.next < truth.chunks) continue;
    for (const rest of frames.slice(stream.next)) stream.socket.write(rest);
    stream.socket.write(frame('[DONE]'));
    streams.delete(stream);
    stream.response.end();
  }
  setTimeout(tick, 1);
}

const server = createServer((request, response) => {
  // Its head is here, and with it the rest of such a short request: reading that takes turns of the loop.
  answer(request, response, now()).catch(() => response.destroy());
});
server.keepAliveTimeout = 60_000;
server.on('connection', (socket) => socket.setNoDelay(true));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  tick();
});
