import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { sum } from '../metrics/statistics.ts';
import type { SelfCheck } from './load-run.ts';
import { runLoad } from './run-load.ts';

/** What the generator is asked to take: chunks per second on each of so many streams. */
export interface ChunkRate {
  readonly streams: number;
  readonly chunksPerSecond: number;
  /** How long each stream lasts; default 1.5 s. */
  readonly seconds?: number;
}

export interface GeneratorProof {
  /** True when every chunk arrived and the streams took no longer than they should. */
  readonly held: boolean;
  /** Time the streams should have taken / the time they took. */
  readonly speedFraction: number;
  readonly selfCheck: SelfCheck;
}

/** A stream may take this much longer than ideal: below what any comparison can tell apart. */
const HELD_FRACTION = 0.98;
const DEFAULT_SECONDS = 1.5;
const TICK_MS = 1;

/**
 * Proves on a built-in paced server that this generator takes the planned chunk rate here and now
 * (field report C15). Server and generator share one core, so a proof holds a fortiori for a
 * server elsewhere; a failed one means that the machine is too slow or too busy for the plan.
 */
export async function proveGenerator(
  { streams, chunksPerSecond, seconds = DEFAULT_SECONDS }: ChunkRate,
  clock: Clock,
  signal?: AbortSignal,
): Promise<GeneratorProof> {
  const chunks = Math.max(2, Math.round(chunksPerSecond * seconds));
  await using server = await pacedServer(chunks, 1000 / chunksPerSecond);
  const limitMs = seconds * 20_000;
  const { records, selfCheck } = await runLoad(
    {
      baseUrl: server.baseUrl,
      api: 'openai-completions',
      model: 'self-check',
      concurrency: streams,
      requests: streams,
      prompts: {
        name: 'self-check',
        cacheable: true,
        natural: false,
        prompt: () => ({ kind: 'text', text: 'self-check' }),
      },
      outputTokens: chunks,
      ignoreEos: true,
      requestTimeoutMs: limitMs,
      stallMs: limitMs,
      pointTimeoutMs: limitMs,
      maxFailureFraction: 0,
      timeScale: 1,
    },
    { clock, signal },
  );
  signal?.throwIfAborted();
  const idealMs = ((chunks - 1) / chunksPerSecond) * 1000;
  const spansMs = records.map((r) => (r.lastTokenAtMs ?? Infinity) - (r.firstTokenAtMs ?? 0));
  const speedFraction = Math.min(1, idealMs / (sum(spansMs) / Math.max(1, spansMs.length)));
  const complete = records.filter((r) => r.outcome === 'completed' && r.outputTokens === chunks);
  const held = complete.length === streams && speedFraction >= HELD_FRACTION;
  return { held, speedFraction, selfCheck };
}

interface Stream {
  readonly response: ServerResponse;
  readonly startMs: number;
  sent: number;
}

/** Writes chunk i of every stream at its start + i x gap. */
async function pacedServer(
  chunks: number,
  gapMs: number,
): Promise<AsyncDisposable & { readonly baseUrl: string }> {
  const streams = new Set<Stream>();
  const server: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const stream = { response, startMs: performance.now(), sent: 0 };
    streams.add(stream);
    response.on('close', () => streams.delete(stream));
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const stream of streams) {
      while (stream.sent < chunks && stream.startMs + stream.sent * gapMs <= nowMs) {
        stream.sent += 1;
        stream.response.write(chunkText(stream.sent, chunks));
      }
      if (stream.sent === chunks) {
        streams.delete(stream);
        stream.response.end('data: [DONE]\n\n');
      }
    }
  }, TICK_MS);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function chunkText(sent: number, chunks: number): string {
  const finish = sent === chunks ? '"length"' : 'null';
  return `data: {"id":"self-check","object":"text_completion","choices":[{"index":0,"text":" word","finish_reason":${finish}}],"usage":{"prompt_tokens":1,"completion_tokens":${sent}}}\n\n`;
}
