import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { UserError } from '../../src/errors.ts';
import type { LoadPlan, LoadRun } from '../../src/load/load-run.ts';
import { runLoad } from '../../src/load/run-load.ts';
import { computePointMetrics } from '../../src/metrics/compute-point-metrics.ts';
import type { RequestRecord } from '../../src/metrics/request-record.ts';
import {
  nativeStream,
  openAiStream,
  scriptedServer,
  sendEvent,
  startStream,
} from './load-server.ts';

const fast = { chunks: 5, perChunk: 1, gapMs: 0 };

function plan(baseUrl: string, overrides: Partial<LoadPlan> = {}): LoadPlan {
  return {
    baseUrl,
    api: 'native',
    model: 'm',
    concurrency: 2,
    requests: 6,
    prompts: {
      name: 'numbered',
      cacheable: false,
      natural: true,
      prompt: (index) => ({ kind: 'text', text: `prompt ${index}` }),
    },
    outputTokens: 100,
    ignoreEos: true,
    requestTimeoutMs: 20_000,
    stallMs: 20_000,
    pointTimeoutMs: 25_000,
    maxFailureFraction: 1,
    timeScale: 1,
    ...overrides,
  };
}

const run = (loadPlan: LoadPlan, signal?: AbortSignal): Promise<LoadRun> =>
  runLoad(loadPlan, { clock: systemClock, signal });

function metricsOf(loadPlan: LoadPlan, { records, end, selfCheck }: LoadRun) {
  const { concurrency, requests, timeScale } = loadPlan;
  return computePointMetrics({
    records,
    concurrency,
    plannedRequests: requests,
    end,
    cacheable: false,
    natural: true,
    timeScale,
    selfCheck,
  });
}

const outcomes = (records: readonly RequestRecord[]) => records.map(({ outcome }) => outcome);
const errors = (records: readonly RequestRecord[]) => records.map(({ error }) => error?.kind);

describe('a closed loop', () => {
  test('sends every request once, with never more in flight than asked for', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 3, perChunk: 1, gapMs: 5 }));
    const loadRun = await run(plan(server.baseUrl, { concurrency: 4, requests: 12 }));
    expect(loadRun.end).toBe('completed');
    expect(loadRun.records.map(({ index }) => index)).toEqual(
      Array.from({ length: 12 }, (_, i) => i),
    );
    expect(new Set(server.received.map(({ body }) => body['text'])).size).toBe(12);
    expect(server.peakInFlight()).toBe(4);
    expect(server.sockets()).toBe(4);
  });

  test('holds 64 requests in flight', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 4, perChunk: 1, gapMs: 50 }));
    const loadRun = await run(plan(server.baseUrl, { concurrency: 64, requests: 192 }));
    expect(outcomes(loadRun.records)).toEqual(new Array(192).fill('completed'));
    expect(server.peakInFlight()).toBe(64);
    expect(server.sockets()).toBe(64);
  });

  test('asks for the length, greedy, streamed, with a request id of one width', async () => {
    await using server = await scriptedServer(nativeStream(fast));
    await run(plan(server.baseUrl, { concurrency: 1, requests: 2 }));
    const [first, second] = server.received.map(({ body }) => body);
    expect(first).toMatchObject({
      text: 'prompt 0',
      stream: true,
      sampling_params: { temperature: 0, max_new_tokens: 100, ignore_eos: true },
    });
    expect(String(first?.['rid'])).toHaveLength(String(second?.['rid']).length);
    expect(first?.['rid']).not.toBe(second?.['rid']);
  });

  test('moments of a request are in order and start at its send', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 5, perChunk: 1, gapMs: 10 }));
    const { records } = await run(plan(server.baseUrl));
    for (const { intendedAtMs, sentAtMs, firstTokenAtMs, lastTokenAtMs, endedAtMs } of records) {
      const moments = [intendedAtMs, sentAtMs, firstTokenAtMs ?? 0, lastTokenAtMs ?? 0, endedAtMs];
      expect(moments).toEqual(moments.toSorted((a, b) => a - b));
    }
  });

  test('a proxy in the environment is not used', async () => {
    const before = process.env['HTTP_PROXY'];
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9';
    try {
      await using server = await scriptedServer(nativeStream(fast));
      expect(outcomes((await run(plan(server.baseUrl))).records)).not.toContain('failed');
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY'];
      else process.env['HTTP_PROXY'] = before;
    }
  });

  test('a server that is not there is an error before anything is measured', async () => {
    const server = await scriptedServer(nativeStream(fast));
    await server[Symbol.asyncDispose]();
    await expect(run(plan(server.baseUrl))).rejects.toThrow(UserError);
  });

  test('token ids are refused for the chat API before anything is sent', async () => {
    await using server = await scriptedServer(nativeStream(fast));
    const ids = {
      name: 'ids',
      cacheable: true,
      natural: false,
      prompt: () => ({ kind: 'ids', ids: [1] }) as const,
    };
    await expect(run(plan(server.baseUrl, { api: 'openai-chat', prompts: ids }))).rejects.toThrow(
      /token ids/,
    );
    expect(server.received).toEqual([]);
  });
});

describe('tokens are the ones the server counted', () => {
  const shape = { chunks: 25, perChunk: 4, gapMs: 40 };

  test('25 chunks of 4 tokens, 40 ms apart, are 100 tokens at about 10 ms (C1)', async () => {
    await using server = await scriptedServer(nativeStream(shape));
    const loadPlan = plan(server.baseUrl, { concurrency: 1, requests: 1 });
    const metrics = metricsOf(loadPlan, await run(loadPlan));
    expect(metrics.outputTokens).toBe(100);
    expect(metrics.itlMs?.n).toBe(96);
    // Timers are late, never early: 40 ms sleeps give 10 ms per token or a little more.
    expect(metrics.tpotMs?.median).toBeGreaterThan(9.8);
    expect(metrics.tpotMs?.median).toBeLessThan(25);
  });

  test.each([
    { usageOn: 'chunk', tokens: 100, from: 'server', perChunk: 25 },
    { usageOn: 'last', tokens: 100, from: 'server', perChunk: 0 },
    { usageOn: 'none', tokens: 25, from: 'estimated', perChunk: 0 },
  ] as const)('usage on $usageOn: $tokens tokens, $from', async (row) => {
    await using server = await scriptedServer(openAiStream({ ...shape, gapMs: 2 }, row.usageOn));
    const { records } = await run(plan(server.baseUrl, { api: 'openai-completions', requests: 2 }));
    for (const record of records) {
      expect(record).toMatchObject({ outcome: 'completed', outputTokens: row.tokens });
      expect(record.tokensFrom).toBe(row.from);
      expect(record.chunkTokens).toHaveLength(row.perChunk);
      expect(record.chunkAtMs).toHaveLength(25);
    }
  });

  test('a server whose clock runs faster is measured in its own time', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 10, perChunk: 1, gapMs: 20 }));
    const loadPlan = plan(server.baseUrl, { concurrency: 1, requests: 1, timeScale: 50 });
    const { records, durationMs } = await run({
      ...loadPlan,
      pointTimeoutMs: 900_000,
      stallMs: 900_000,
      requestTimeoutMs: 900_000,
    });
    // 9 gaps of 20 wall ms are at least 9 s of the server's time.
    const decodeMs = (records[0]?.lastTokenAtMs ?? 0) - (records[0]?.firstTokenAtMs ?? 0);
    expect(decodeMs).toBeGreaterThan(8800);
    expect(durationMs).toBeGreaterThan(9800);
  });
});

describe('failures are told apart and never counted as speed', () => {
  test('a server that refuses 30 % shows that share (C17)', async () => {
    const serve = nativeStream(fast);
    await using server = await scriptedServer((request, response) => {
      if (request.index % 10 < 7) return serve(request, response);
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end('{"object":"error","message":"The request queue is full.","code":503}');
      return undefined;
    });
    const loadPlan = plan(server.baseUrl, { requests: 20 });
    const loadRun = await run(loadPlan);
    const metrics = metricsOf(loadPlan, loadRun);
    expect(metrics).toMatchObject({ failed: 6, completed: 14, failureFraction: 0.3 });
    expect(server.received).toHaveLength(20);
    const refused = loadRun.records.find(({ outcome }) => outcome === 'failed');
    expect(refused?.error).toEqual({
      kind: 'refused',
      message: 'HTTP 503: The request queue is full.',
      httpStatus: 503,
    });
  });

  test.each([
    {
      name: 'an error event inside a 200 stream',
      kind: 'error-event',
      events: [{ error: { message: 'out of memory', code: 500 } }, '[DONE]'],
    },
    {
      name: 'a stream that ends without a finish reason',
      kind: 'truncated',
      events: [{ text: 'a', meta_info: { completion_tokens: 1, finish_reason: null } }],
    },
    {
      name: 'an answer without tokens',
      kind: 'no-tokens',
      events: [{ text: '', meta_info: { completion_tokens: 0, finish_reason: { type: 'stop' } } }],
    },
  ])('$name fails as $kind', async ({ kind, events }) => {
    await using server = await scriptedServer((_request, response) => {
      startStream(response);
      for (const event of events) sendEvent(response, event);
      response.end();
    });
    const { records } = await run(plan(server.baseUrl));
    expect(errors(records)).toEqual(new Array(6).fill(kind));
  });

  test('a reset after bytes is a failure and keeps what came', async () => {
    await using server = await scriptedServer(async (_request, response) => {
      startStream(response);
      sendEvent(response, { text: 'a', meta_info: { completion_tokens: 3, finish_reason: null } });
      await sleep(20);
      response.destroy();
    });
    const { records } = await run(plan(server.baseUrl, { requests: 2 }));
    for (const record of records) {
      expect(record).toMatchObject({ outcome: 'failed', outputTokens: 3 });
      expect(record.error?.kind).toBe('reset');
      expect(record.retried).toBeUndefined();
    }
  });

  test('a reset on a reused socket before any byte is sent again once and tagged (E13)', async () => {
    const serve = nativeStream(fast);
    await using server = await scriptedServer((request, response) => {
      if (request.index !== 1) return serve(request, response);
      response.socket?.resetAndDestroy();
      return undefined;
    });
    const { records } = await run(plan(server.baseUrl, { concurrency: 1, requests: 3 }));
    expect(outcomes(records)).toEqual(['completed', 'completed', 'completed']);
    expect(records.map(({ retried }) => retried === true)).toEqual([false, true, false]);
    expect(server.received).toHaveLength(4);
  });

  test('a reset on a fresh socket is a failure', async () => {
    await using server = await scriptedServer((_request, response) => {
      response.socket?.resetAndDestroy();
    });
    const { records } = await run(plan(server.baseUrl, { concurrency: 1, requests: 1 }));
    expect(errors(records)).toEqual(['reset']);
    expect(server.received).toHaveLength(1);
  });

  test('a server that closes idle sockets between two runs loses nothing (E13)', async () => {
    await using server = await scriptedServer(nativeStream(fast));
    server.http.keepAliveTimeout = 100;
    const first = await run(plan(server.baseUrl));
    await sleep(300);
    const second = await run(plan(server.baseUrl));
    expect(outcomes([...first.records, ...second.records])).toEqual(
      new Array(12).fill('completed'),
    );
  });
});

describe('limits end the run in time and keep what was measured', () => {
  const never = async (): Promise<void> => {
    await sleep(20_000, undefined, { ref: false });
  };

  test('headers later than the usual client default arrive within our own limit (E11, scaled)', async () => {
    const serve = nativeStream(fast);
    await using server = await scriptedServer(async (request, response) => {
      await sleep(1500);
      await serve(request, response);
    });
    const { records } = await run(plan(server.baseUrl, { requests: 2, requestTimeoutMs: 9000 }));
    expect(outcomes(records)).toEqual(['completed', 'completed']);
  });

  test('a request over its limit fails and names the limit; the others go on', async () => {
    const serve = nativeStream(fast);
    await using server = await scriptedServer((request, response) =>
      request.body['text'] === 'prompt 1' ? never() : serve(request, response),
    );
    const { records, end } = await run(plan(server.baseUrl, { requestTimeoutMs: 400 }));
    expect(end).toBe('completed');
    expect(outcomes(records).filter((outcome) => outcome === 'failed')).toHaveLength(1);
    expect(records[1]?.error).toMatchObject({ kind: 'timeout' });
    expect(records[1]?.error?.message).toContain('request limit of 0.4 s');
  });

  test('a stall ends the run, keeps the ended requests and aborts the rest on the server', async () => {
    const serve = nativeStream(fast);
    await using server = await scriptedServer(async (request, response) => {
      if (request.path !== '/generate' || request.index < 3) return serve(request, response);
      startStream(response);
      sendEvent(response, { text: 'a', meta_info: { completion_tokens: 1, finish_reason: null } });
      return never();
    });
    const { records, end } = await run(plan(server.baseUrl, { stallMs: 400 }));
    expect(end).toBe('stalled');
    expect(outcomes(records)).toEqual([
      'completed',
      'completed',
      'completed',
      'aborted',
      'aborted',
    ]);
    const aborts = server.received.filter(({ path }) => path === '/abort_request');
    const cutOff = server.received.filter(({ path }) => path === '/generate').slice(3);
    expect(aborts.map(({ body }) => body['rid']).toSorted()).toEqual(
      cutOff.map(({ body }) => body['rid']).toSorted(),
    );
    expect(server.http.listening).toBe(true);
  });

  test('the deadline of a point ends it although tokens still come', async () => {
    await using server = await scriptedServer(
      nativeStream({ chunks: 500, perChunk: 1, gapMs: 20 }),
    );
    const loadPlan = plan(server.baseUrl, { pointTimeoutMs: 500 });
    const loadRun = await run(loadPlan);
    expect(loadRun.end).toBe('deadline');
    expect(outcomes(loadRun.records)).toEqual(['aborted', 'aborted']);
    expect(loadRun.records[0]?.outputTokens).toBeGreaterThan(0);
    expect(metricsOf(loadPlan, loadRun).marks.map(({ code }) => code)).toContain('partial');
  });

  test('too many failures end the run before all requests were sent', async () => {
    await using server = await scriptedServer((_request, response) => {
      response.writeHead(500).end('broken');
    });
    const { records, end } = await run(
      plan(server.baseUrl, { requests: 500, maxFailureFraction: 0.2 }),
    );
    expect(end).toBe('failures');
    expect(records.length).toBeLessThan(20);
  });

  test('an interrupt ends the run at once and keeps what was measured', async () => {
    const serve = nativeStream(fast);
    const interrupt = new AbortController();
    await using server = await scriptedServer((request, response) => {
      if (request.index === 4) interrupt.abort(new Error('Ctrl-C'));
      const hangs = request.path === '/generate' && request.index >= 4;
      return hangs ? never() : serve(request, response);
    });
    const { records, end } = await run(plan(server.baseUrl, { requests: 100 }), interrupt.signal);
    expect(end).toBe('interrupted');
    // Two in flight: when the fifth arrives, three have ended for certain.
    const completed = outcomes(records).filter((outcome) => outcome === 'completed');
    expect(completed.length).toBeGreaterThanOrEqual(3);
  });
});
