import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { runBench } from '../../src/load/bench.ts';
import { measurePoint } from '../../src/load/measure-point.ts';
import type { PointOptions } from '../../src/load/point-options.ts';
import { createPromptSource } from '../../src/load/prompts/create-prompt-source.ts';
import {
  abortAll,
  completeOnce,
  fetchServerInfo,
  flushCache,
} from '../../src/load/server-probe.ts';
import { type Behaviour, nativeStream, openAiStream, scriptedServer } from './load-server.ts';

const deps = { clock: systemClock };
const stream = nativeStream({ chunks: 8, perChunk: 2, gapMs: 2 });

/** A native server whose flush answers with these status codes in turn, the last one for ever. */
function flushing(statuses: readonly number[]): Behaviour {
  let flushes = 0;
  return (request, response) => {
    if (!request.path.startsWith('/flush_cache')) return stream(request, response);
    const status = statuses[Math.min(flushes, statuses.length - 1)] ?? 200;
    flushes += 1;
    response.writeHead(status).end(status === 200 ? 'Cache flushed.' : 'Flush cache failed.');
    return undefined;
  };
}

function options(baseUrl: string, prompts = 'code'): Omit<PointOptions, 'concurrency'> {
  return {
    baseUrl,
    model: 'm',
    timeScale: 1,
    workload: {
      prompts,
      inputTokens: 100,
      outputTokens: 16,
      ignoreEos: true,
      api: 'native',
      seed: 1,
      tokenId: 23_066,
    },
    salt: 'sweep',
    requestTimeoutSeconds: 10,
    pointTimeoutSeconds: 20,
    stallSeconds: 10,
  };
}

const promptOf = (body: Record<string, unknown>) =>
  JSON.stringify(body['text'] ?? body['input_ids']);

describe('a point', () => {
  test('is measured after warm-up, flush and a second warm-up, no prompt sent twice (C9)', async () => {
    await using server = await scriptedServer(flushing([200]));
    const point = await measurePoint({ ...options(server.baseUrl), concurrency: 4 }, deps);
    const order = server.received.map(({ path }) => path.split('?')[0]);
    const phases = order.filter((path, i) => path !== order[i - 1]);
    const measured = ['/metrics', '/generate'];
    expect(phases).toEqual(['/generate', '/flush_cache', '/generate', ...measured]);
    expect(order.length - order.indexOf('/metrics') - 1).toBe(8);
    const prompts = server.received.map(({ body }) => promptOf(body)).filter(Boolean);
    expect(new Set(prompts).size).toBe(prompts.length);
    expect(point.metrics).toMatchObject({ completed: 8, outputTokens: 128, tokensFrom: 'server' });
    expect(point.conditions).toMatchObject({
      flushed: true,
      prompt_salt: 'sweep',
      end: 'completed',
    });
  });

  test('with fixed-token is warmed up with that very prompt, not flushed, and marked', async () => {
    await using server = await scriptedServer(flushing([200]));
    const point = await measurePoint(
      { ...options(server.baseUrl, 'fixed-token'), concurrency: 2 },
      deps,
    );
    expect(server.received.map(({ path }) => path)).not.toContain('/flush_cache?timeout=5');
    const generated = server.received.filter(({ path }) => path === '/generate');
    expect(new Set(generated.map(({ body }) => promptOf(body))).size).toBe(1);
    expect(point.metrics.marks.map(({ code }) => code)).toContain('cacheable-prompts');
  });

  test('whose cache was never flushed is marked and still measured (C10)', async () => {
    await using server = await scriptedServer(flushing([404]));
    const point = await measurePoint({ ...options(server.baseUrl), concurrency: 1 }, deps);
    expect(point.metrics.marks.map(({ code }) => code)).toEqual(['not-flushed']);
    expect(point.metrics.completed).toBe(4);
  });

  test('an interrupt during warm-up is an interrupt, not a measurement', async () => {
    const signal = AbortSignal.abort(new Error('Ctrl-C'));
    await using server = await scriptedServer(flushing([200]));
    const measuring = measurePoint(
      { ...options(server.baseUrl), concurrency: 1 },
      { ...deps, signal },
    );
    await expect(measuring).rejects.toThrow('Ctrl-C');
  });

  test('bench yields one point per concurrency, in order', async () => {
    await using server = await scriptedServer(flushing([200]));
    const seen: number[] = [];
    for await (const { metrics } of runBench(
      { ...options(server.baseUrl), concurrencies: [2, 1, 4] },
      deps,
    )) {
      seen.push(metrics.concurrency);
    }
    expect(seen).toEqual([2, 1, 4]);
  });

  test('of an OpenAI server is measured without native endpoints', async () => {
    await using server = await scriptedServer(
      openAiStream({ chunks: 4, perChunk: 4, gapMs: 1 }, 'last'),
    );
    const base = options(server.baseUrl);
    const workload = { ...base.workload, api: 'openai-completions' as const };
    const { metrics } = await measurePoint({ ...base, workload, concurrency: 1 }, deps);
    expect(new Set(server.received.map(({ path }) => path))).toEqual(
      new Set(['/v1/completions', '/metrics']),
    );
    expect(metrics).toMatchObject({ completed: 4, outputTokens: 64, marks: [] });
  });
});

describe('asking a server', () => {
  const json: (routes: Record<string, unknown>) => Behaviour = (routes) => (request, response) => {
    const body = routes[request.path];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { detail: 'Not Found' }));
  };

  test('a native server tells version, model, speed and the running limit of its workers', async () => {
    const info = {
      model_path: '/models/m',
      served_model_name: 'served',
      version: '0.5.23',
      max_running_requests: 48,
      nightsweep_simulator: { speed: 20 },
      internal_states: [
        { effective_max_running_requests_per_dp: 24 },
        { effective_max_running_requests_per_dp: 26 },
      ],
    };
    await using server = await scriptedServer(json({ '/server_info': info }));
    expect(await fetchServerInfo(server)).toMatchObject({
      kind: 'native',
      version: '0.5.23',
      model: 'served',
      timeScale: 20,
      runningLimit: 24,
    });
  });

  test('an OpenAI server is known by its models', async () => {
    const models = { object: 'list', data: [{ id: 'tiny.gguf' }] };
    await using server = await scriptedServer(json({ '/v1/models': models }));
    const info = await fetchServerInfo({ baseUrl: `${server.baseUrl}/v1/` });
    expect(info).toMatchObject({ kind: 'openai', model: 'tiny.gguf', timeScale: 1 });
  });

  test('a server that wants a key is told apart from one that is no model server', async () => {
    await using locked = await scriptedServer((_request, response) => {
      response.writeHead(401).end('{"error":"Unauthorized"}');
    });
    await expect(fetchServerInfo(locked)).rejects.toThrow(/refuses the request \(HTTP 401\)/);
    await using other = await scriptedServer(json({}));
    await expect(fetchServerInfo(other)).rejects.toThrow(/neither \/server_info nor/);
  });

  test('a flush that is refused five times is tried again until it works (C10)', async () => {
    await using server = await scriptedServer(flushing([400, 400, 400, 400, 400, 200]));
    expect(await flushCache(server, systemClock)).toEqual({
      flushed: true,
      attempts: 6,
      message: 'Cache flushed.',
    });
  });

  test('abort all is posted as SGLang wants it', async () => {
    await using server = await scriptedServer((_request, response) => {
      response.end();
    });
    expect(await abortAll(server)).toBe(true);
    expect(server.received[0]).toMatchObject({
      path: '/abort_request',
      body: { rid: '', abort_all: true },
    });
  });

  const completion = {
    model: 'm',
    prompt: { kind: 'text', text: '2 + 2 =' },
    outputTokens: 8,
    ignoreEos: false,
    timeoutMs: 5000,
  } as const;

  test('a completion tells its tokens and accept length', async () => {
    const meta_info = {
      completion_tokens: 8,
      spec_verify_ct: 4,
      finish_reason: { type: 'length' },
    };
    await using server = await scriptedServer(json({ '/generate': { text: ' 4', meta_info } }));
    const request = { ...completion, baseUrl: server.baseUrl, api: 'native' as const };
    expect(await completeOnce(request)).toEqual({
      text: ' 4',
      outputTokens: 8,
      finishReason: 'length',
      acceptLength: 2,
    });
  });

  test('a completion that is refused says why', async () => {
    await using server = await scriptedServer((_request, response) => {
      response.writeHead(503).end('{"object":"error","message":"The request queue is full."}');
    });
    const request = { ...completion, baseUrl: server.baseUrl, api: 'openai-chat' as const };
    await expect(completeOnce(request)).rejects.toThrow(/HTTP 503: The request queue is full\./);
  });
});

describe('prompts of a file', () => {
  const write = async (name: string, text: string) => {
    const folder = await mkdtemp(join(tmpdir(), 'nightsweep-prompts-'));
    const path = join(folder, name);
    await writeFile(path, text);
    return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  };
  const base = { inputTokens: 0, seed: 0, salt: 's', tokenId: 0 };

  test('JSONL holds prompts and conversations, each salted at its start', async () => {
    const lines = ['{"prompt":"first"}', '{"messages":[{"role":"user","content":"second"}]}'];
    await using file = await write('p.jsonl', lines.join('\n'));
    const source = createPromptSource({ ...base, prompts: file.path });
    const all = [0, 1, 2].map((i) => JSON.stringify(source.prompt(i)));
    expect(all.filter((prompt) => prompt.includes('first')).length).toBeGreaterThan(0);
    expect(all.filter((prompt) => prompt.includes('second')).length).toBeGreaterThan(0);
    expect(new Set(all).size).toBe(3);
    for (const prompt of all) expect(prompt).toMatch(/"[0-9a-f]{16}\\n\\n(first|second)"/);
  });

  test('a line without a prompt is named', async () => {
    await using file = await write('p.jsonl', '{"prompt":"a"}\n{"text":"b"}\n');
    expect(() => createPromptSource({ ...base, prompts: file.path })).toThrow(`${file.path}:2`);
  });
});
