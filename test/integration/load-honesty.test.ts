import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { requireFiles } from '../../src/load/file-limit.ts';
import { findDialect } from '../../src/load/find-dialect.ts';
import type { LoadPlan } from '../../src/load/load-run.ts';
import { measurePoint } from '../../src/load/measure-point.ts';
import type { PointOptions } from '../../src/load/point-options.ts';
import { runLoad } from '../../src/load/run-load.ts';
import { computePointMetrics } from '../../src/metrics/compute-point-metrics.ts';
import {
  type Behaviour,
  nativeStream,
  openAiStream,
  scriptedServer,
  sendEvent,
  startStream,
} from './load-server.ts';

const deps = { clock: systemClock };

function point(baseUrl: string, changes: Partial<PointOptions['workload']> = {}): PointOptions {
  return {
    baseUrl,
    model: 'm',
    timeScale: 1,
    concurrency: 1,
    salt: 'test',
    requestTimeoutSeconds: 20,
    pointTimeoutSeconds: 30,
    stallSeconds: 20,
    workload: {
      prompts: 'code',
      inputTokens: 50,
      outputTokens: 20,
      ignoreEos: true,
      api: 'native',
      seed: 1,
      tokenId: 5,
      ...changes,
    },
  };
}

function plan(baseUrl: string, changes: Partial<LoadPlan> = {}): LoadPlan {
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
    outputTokens: 20,
    ignoreEos: true,
    requestTimeoutMs: 20_000,
    stallMs: 20_000,
    pointTimeoutMs: 25_000,
    maxFailureFraction: 1,
    timeScale: 1,
    ...changes,
  };
}

const codes = (marks: readonly { readonly code: string }[]) => marks.map(({ code }) => code);
const wordsOf = (text: unknown): number[] => String(text).split(' ').map(Number);

/** A native stream of 20 tokens whose gaps the test decides for each request. */
function paced(gapMs: (index: number) => number, verify?: number): Behaviour {
  let requests = 0;
  return async ({ path }, response) => {
    if (path !== '/generate') {
      response.writeHead(path.startsWith('/flush') ? 200 : 404).end();
      return;
    }
    const gap = gapMs(requests);
    requests += 1;
    startStream(response);
    for (let i = 1; i <= 20; i += 1) {
      await sleep(gap);
      const finish_reason = i === 20 ? { type: 'length' } : null;
      const spec = verify === undefined || i < 20 ? {} : { spec_verify_ct: verify };
      sendEvent(response, {
        text: 'x',
        meta_info: { completion_tokens: i, prompt_tokens: 9, finish_reason, ...spec },
      });
    }
    sendEvent(response, '[DONE]');
    response.end();
  };
}

describe('a point', () => {
  test('is measured on the plateau of a server that warms up (C13)', async () => {
    const curve = [80, 30, 15];
    await using server = await scriptedServer(paced((i) => curve[i] ?? 10));
    const { metrics, conditions } = await measurePoint(point(server.baseUrl), deps);
    const steps = wordsOf(conditions['warm_up_steps_per_second']);
    expect(steps.length).toBeGreaterThanOrEqual(4);
    expect(steps[0]).toBeLessThan(15);
    // The slow start is not in it: 80 ms gaps would more than double the mean.
    expect(metrics.itlMs?.max).toBeLessThan(80);
  });

  test('waits after a flush until the server is as fast as before it (C11)', async () => {
    let flushedAtMs = 0;
    const slowAfterFlush = () => (performance.now() - flushedAtMs < 2500 ? 60 : 10);
    const stream = paced(slowAfterFlush);
    await using server = await scriptedServer((request, response) => {
      if (request.path.startsWith('/flush')) flushedAtMs = performance.now();
      return stream(request, response);
    });
    const { metrics, conditions } = await measurePoint(point(server.baseUrl), deps);
    expect(wordsOf(conditions['second_warm_up_steps_per_second']).length).toBeGreaterThan(1);
    expect(metrics.tpotMs?.median).toBeLessThan(40);
  });

  test('far slower than the baseline is given up as hopeless and keeps what came (D6)', async () => {
    await using server = await scriptedServer(paced(() => 50));
    const { run, metrics } = await measurePoint(
      { ...point(server.baseUrl), warmUpRequests: 0, expectedTokensPerSecond: 100 },
      deps,
    );
    expect(run.end).toBe('hopeless');
    expect(codes(metrics.marks)).toContain('partial');
  });

  test('as fast as the baseline is never hopeless', async () => {
    await using server = await scriptedServer(paced(() => 5));
    const options = { ...point(server.baseUrl), warmUpRequests: 0, expectedTokensPerSecond: 100 };
    expect((await measurePoint(options, deps)).run.end).toBe('completed');
  });

  test('that stalls in its warm-up ends there', async () => {
    await using server = await scriptedServer((_request, response) => {
      startStream(response);
      response.flushHeaders();
    });
    const { run, conditions } = await measurePoint(
      { ...point(server.baseUrl), stallSeconds: 1 },
      deps,
    );
    expect(run.end).toBe('stalled');
    expect(conditions['ended_in']).toBe('warm-up');
  });

  test('with speculation on random ids is marked; on code it shows its accept length (C21)', async () => {
    await using server = await scriptedServer(paced(() => 1, 8));
    const random = await measurePoint(
      { ...point(server.baseUrl, { prompts: 'random-ids' }), warmUpRequests: 0 },
      deps,
    );
    expect(codes(random.metrics.marks)).toContain('unnatural-prompts');
    const code = await measurePoint({ ...point(server.baseUrl), warmUpRequests: 0 }, deps);
    expect(code.metrics.acceptLength).toBe(2.5);
    expect(codes(code.metrics.marks)).not.toContain('unnatural-prompts');
  });

  test('is compared with what the server counted, and a gap over 3 % is marked', async () => {
    let tokens = 0;
    const stream = paced(() => 1);
    await using server = await scriptedServer(async (request, response) => {
      if (request.path === '/metrics') {
        response.end(`sglang:generation_tokens_total{a="b"} ${tokens}\n`);
        return;
      }
      if (request.path === '/generate') tokens += 22;
      await stream(request, response);
    });
    const { metrics } = await measurePoint({ ...point(server.baseUrl), warmUpRequests: 0 }, deps);
    expect(metrics.serverCounts?.outputGapFraction).toBeCloseTo(0.1, 6);
    expect(codes(metrics.marks)).toContain('server-count-differs');
  });

  test('one request ten times longer does not sink the steady figure (C16)', async () => {
    await using server = await scriptedServer(paced((i) => (i === 9 ? 100 : 10)));
    const loadPlan = plan(server.baseUrl, { concurrency: 4, requests: 24 });
    const { records, end, selfCheck } = await runLoad(loadPlan, deps);
    const metrics = computePointMetrics({
      records,
      concurrency: 4,
      plannedRequests: 24,
      end,
      cacheable: false,
      timeScale: 1,
      selfCheck,
    });
    expect(metrics.throughputKind).toBe('steady');
    expect(metrics.outputTokensPerSecond).toBeGreaterThan(metrics.wholeRunTokensPerSecond);
  });
});

describe('an open loop', () => {
  test('shows the wait of every request that was due while the server stalled (C19)', async () => {
    const startMs = performance.now();
    // Nothing is answered between 0.3 s and 0.8 s: at 100 requests a second about 50 must wait.
    await using server = await scriptedServer(async (_request, response) => {
      const sinceMs = performance.now() - startMs;
      const stalled = sinceMs >= 300 && sinceMs < 800;
      if (stalled) await sleep(800 - sinceMs);
      startStream(response);
      const meta_info = {
        completion_tokens: 20,
        prompt_tokens: 9,
        finish_reason: { type: 'length' },
      };
      sendEvent(response, { text: 'x', meta_info });
      response.end();
    });
    const arrivals = {
      kind: 'open',
      requestsPerSecond: 100,
      process: 'constant',
      seed: 1,
    } as const;
    const { records } = await runLoad(plan(server.baseUrl, { requests: 120, arrivals }), deps);
    const waits = records.map((r) => (r.firstTokenAtMs ?? Number.NaN) - r.intendedAtMs);
    expect(records).toHaveLength(120);
    expect(waits.filter((wait) => wait > 100).length).toBeGreaterThanOrEqual(35);
    expect(Math.max(...waits)).toBeGreaterThan(400);
  });

  test('sends at its times whatever is still in flight', async () => {
    await using server = await scriptedServer(paced(() => 20));
    const arrivals = { kind: 'open', requestsPerSecond: 50, process: 'poisson', seed: 3 } as const;
    const { selfCheck } = await runLoad(plan(server.baseUrl, { requests: 20, arrivals }), deps);
    expect(selfCheck.peakInFlight).toBeGreaterThan(2);
  });
});

describe('a closed loop', () => {
  test('waits the think time between an answer and the next request', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 2, perChunk: 10, gapMs: 1 }));
    const arrivals = { kind: 'closed', thinkTimeMs: 80 } as const;
    const { records } = await runLoad(
      plan(server.baseUrl, { concurrency: 1, requests: 3, arrivals }),
      deps,
    );
    const pauses = records.slice(1).map((r, i) => r.sentAtMs - (records[i]?.endedAtMs ?? 0));
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(79);
  });

  test('keeps the turns of a session in order, each prompt the start of the next', async () => {
    await using server = await scriptedServer(nativeStream({ chunks: 2, perChunk: 10, gapMs: 1 }));
    await measurePoint(
      {
        ...point(server.baseUrl, {
          prompts: 'agentic',
          inputTokens: 200,
          session: { turns: 3, pauseSeconds: 0.01 },
          requests: 3,
        }),
        warmUpRequests: 0,
      },
      deps,
    );
    const texts = server.received
      .filter(({ path }) => path === '/generate')
      .map(({ body }) => String(body['text']));
    expect(texts).toHaveLength(3);
    expect(texts[1]?.startsWith(texts[0] ?? '-')).toBe(true);
    expect(texts[2]?.startsWith(texts[1] ?? '-')).toBe(true);
  });
});

describe('the client', () => {
  test('that burns its own CPU is marked as the limit (C15)', async () => {
    await using server = await scriptedServer(paced(() => 5));
    const burning = setInterval(() => {
      const untilMs = performance.now() + 300;
      while (performance.now() < untilMs);
    }, 310);
    const measured = await measurePoint({ ...point(server.baseUrl), warmUpRequests: 0 }, deps);
    clearInterval(burning);
    expect(codes(measured.metrics.marks)).toContain('client-limited');
  });

  test('refuses more requests in flight than it may have files (E12)', () => {
    expect(() => {
      requireFiles(512, 256);
    }).toThrow(/512 requests in flight need 576 open files, 256 are allowed/);
    expect(() => {
      requireFiles(64, 256);
    }).not.toThrow();
  });

  test('reads its own file limit, which a shell can lower (E12)', async () => {
    const script = `import { fileLimit } from '${new URL('../../src/load/file-limit.ts', import.meta.url).pathname}'; console.log(fileLimit())`;
    const tsx = new URL('../../node_modules/.bin/tsx', import.meta.url).pathname;
    const child = spawn('sh', ['-c', `ulimit -n 256; exec "${tsx}" --eval "$0"`, script]);
    let text = '';
    for await (const piece of child.stdout) text += String(piece);
    expect(text.trim()).toBe('256');
  });

  test('asks a strict server again without what it refuses', async () => {
    const usage = openAiStream({ chunks: 2, perChunk: 10, gapMs: 1 }, 'last');
    await using server = await scriptedServer((request, response) => {
      const stream = request.body['stream_options'] as Record<string, unknown> | undefined;
      const refused =
        stream?.['continuous_usage_stats'] === true ? 'continuous_usage_stats' : undefined;
      const unknown = refused ?? ('ignore_eos' in request.body ? 'ignore_eos' : undefined);
      if (unknown !== undefined) {
        response
          .writeHead(400)
          .end(JSON.stringify({ error: { message: `unknown key ${unknown}` } }));
        return undefined;
      }
      return usage(request, response);
    });
    const api = 'openai-chat' as const;
    const dialect = await findDialect({ baseUrl: server.baseUrl, api, model: 'm' }, true);
    expect(dialect).toMatchObject({ streamUsage: true, continuousUsage: false, ignoreEos: false });
    const options = { ...point(server.baseUrl, { api, ignoreEos: true }), warmUpRequests: 0 };
    expect((await measurePoint(options, deps)).metrics).toMatchObject({ completed: 4, failed: 0 });
  });
});
