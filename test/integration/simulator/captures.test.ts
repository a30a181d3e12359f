import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StartedSimulator, startSimulator } from '../../../src/simulator/main.ts';
import { ask, events, type Reply } from './http.ts';

const FOLDER = new URL('../../fixtures/sglang-captures/', import.meta.url);

interface Captured {
  readonly method: string;
  readonly path: string;
  readonly requestBody: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

function splitMessage(text: string): { first: string; headers: string; body: string } {
  const [head = '', ...rest] = text.replaceAll('\r\n', '\n').split('\n\n');
  const [first = '', ...headers] = head.split('\n');
  return { first, headers: headers.join('\n'), body: rest.join('\n\n') };
}

function readCapture(name: string): Captured {
  const request = splitMessage(readFileSync(new URL(`0.5.23-${name}.request.txt`, FOLDER), 'utf8'));
  const reply = splitMessage(readFileSync(new URL(`0.5.23-${name}.response.http`, FOLDER), 'utf8'));
  const [method = '', path = ''] = request.first.split(' ');
  return {
    method,
    path,
    requestBody: request.body,
    status: Number(reply.first.split(' ')[1]),
    contentType: /^content-type: (.*)$/im.exec(reply.headers)?.[1],
    body: reply.body,
  };
}

/** Structure of JSON: keys in order, and the type of each value; null fits anything. */
function shape(value: unknown): unknown {
  if (value === null) return null;
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}

function expectShape(actual: unknown, wanted: unknown, at: string): void {
  if (actual === null || wanted === null) return;
  if (typeof wanted === 'object' && typeof actual === 'object') {
    expect(Object.keys(actual), at).toEqual(Object.keys(wanted));
    for (const [key, inner] of Object.entries(wanted)) {
      expectShape((actual as Record<string, unknown>)[key], inner, `${at}.${key}`);
    }
  } else expect(actual, at).toEqual(wanted);
}

function shapeOf(text: string): unknown {
  return shape(JSON.parse(text) as unknown);
}

let plain: StartedSimulator;
let speculative: StartedSimulator;
const common =
  '--model-path /srv/sglang/tiny-qwen3 --port 0 --context-length 2048 --enable-metrics --speed 5 --sim-start-seconds 1';

beforeAll(() => {
  plain = startSimulator(common.split(' '));
  const flags =
    '--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1';
  speculative = startSimulator(`${common} ${flags}`.split(' '));
});
afterAll(async () => {
  await Promise.all([plain.kill(), speculative.kill()]);
});

async function replay(name: string): Promise<{ captured: Captured; reply: Reply }> {
  const captured = readCapture(name);
  const server = name.startsWith('spec_') ? speculative : plain;
  const url = (await server.baseUrl) + captured.path;
  const reply = await ask(url, { method: captured.method, body: captured.requestBody });
  return { captured, reply };
}

const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.request.txt'))
  .map((file) => file.slice('0.5.23-'.length, -'.request.txt'.length))
  .filter((name) => !name.startsWith('queue_overflow'));
const isStream = (name: string): boolean =>
  readCapture(name).contentType?.includes('event-stream') === true;
const isInfo = (name: string): boolean => name.includes('server_info') || name === 'get_v1_loads';

describe('answers as the captured SGLang', () => {
  test.each(names)('%s has the captured status and content type', async (name) => {
    const { captured, reply } = await replay(name);
    expect(reply.status).toBe(captured.status);
    expect(reply.headers['content-type']).toBe(captured.contentType);
    expect(reply.headers['server']).toBe('uvicorn');
  });

  test.each(names.filter((name) => !isStream(name) && !isInfo(name)))(
    '%s has the captured body or its structure',
    async (name) => {
      const { captured, reply } = await replay(name);
      if (!captured.body.startsWith('{')) expect(reply.body.trim()).toBe(captured.body.trim());
      else expectShape(shapeOf(reply.body), shapeOf(captured.body), name);
    },
  );

  test.each(names.filter(isStream))(
    '%s has the captured kinds of events in order',
    async (name) => {
      const { captured, reply } = await replay(name);
      const [actual, wanted] = [events(reply.body), events(captured.body)];
      expect(actual.at(-1)).toBe('[DONE]');
      expect(wanted.at(-1)).toBe('[DONE]');
      for (const index of [0, -2, -3]) {
        const [got, want] = [actual.at(index), wanted.at(index)];
        // Events that pile up are sent as one, so the first may be the last: only then skip it.
        const few = actual.length < 4 && index !== -2;
        if (got === undefined || want === undefined || few) continue;
        expectShape(shapeOf(got), shapeOf(want), `${name} event ${index}`);
      }
    },
  );

  test.each([
    'err_context_generate',
    'err_context_v1_completions',
    'err_context_generate_stream',
    'err_bad_temperature',
    'err_generate_bad_param',
    'err_generate_empty',
  ])('%s has the captured words', async (name) => {
    const { captured, reply } = await replay(name);
    expect(reply.body.trim()).toBe(captured.body.trim());
  });

  test('server info has every captured field, and the resolved ones a tuner reads', async () => {
    const { captured, reply } = await replay('spec_server_info');
    const wanted = JSON.parse(captured.body) as Record<string, unknown>;
    const actual = JSON.parse(reply.body) as Record<string, unknown>;
    const flags = Object.keys(wanted).filter(
      (key) =>
        key.startsWith('speculative_num') || key.startsWith('max_') || key.startsWith('mamba'),
    );
    expect(Object.keys(actual)).toEqual(expect.arrayContaining(flags));
    expect(actual).toMatchObject({
      speculative_algorithm: 'EAGLE',
      speculative_num_steps: 3,
      max_running_requests: 48,
      version: '0.5.23',
      nightsweep_simulator: { speed: 5 },
    });
  });
});

test('a full queue is a 503, and inside a stream an error event', async () => {
  const server = startSimulator(
    `${common} --max-running-requests 1 --max-queued-requests 1`.split(' '),
  );
  const base = await server.baseUrl;
  const stop = new AbortController();
  await expect.poll(async () => (await ask(`${base}/health`)).status).toBe(200);
  const busy = [0, 1].map(() =>
    ask(`${base}/generate`, {
      method: 'POST',
      body: {
        text: 'Once',
        stream: true,
        sampling_params: { max_new_tokens: 2000, ignore_eos: true },
      },
      signal: stop.signal,
    }).catch(() => undefined),
  );
  await expect
    .poll(async () => {
      const loads = JSON.parse((await ask(`${base}/v1/loads`)).body) as {
        loads: { num_running_reqs: number; num_waiting_reqs: number }[];
      };
      return [loads.loads[0]?.num_running_reqs, loads.loads[0]?.num_waiting_reqs];
    })
    .toEqual([1, 1]);
  for (const name of ['queue_overflow_2', 'queue_overflow_3']) {
    const captured = readCapture(name);
    const reply = await ask(base + captured.path, { method: 'POST', body: captured.requestBody });
    expect(reply.status).toBe(captured.status);
    expect(reply.body.trim()).toBe(captured.body.trim());
  }
  stop.abort();
  await Promise.all(busy);
  await server.kill();
});
