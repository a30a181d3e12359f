import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answerReaders } from '../../../src/load/answer-reader.ts';
import type { Api } from '../../../src/load/load-run.ts';
import { SseScanner } from '../../../src/load/sse-scanner.ts';

/** Facts of a stream of which event n arrives at n ms. */
function read(api: Api, bytes: Buffer) {
  const reader = answerReaders[api]();
  let atMs = 0;
  const scanner = new SseScanner((bytes, from, to) => {
    atMs += 1;
    reader.event(bytes, from, to, atMs);
  });
  scanner.push(bytes);
  scanner.end();
  return reader.facts(true);
}

const recording = (name: string): Buffer =>
  readFileSync(new URL(`../../fixtures/sse/${name}`, import.meta.url));
const events = (...data: unknown[]): Buffer =>
  Buffer.from(data.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

describe('recorded streams', () => {
  test('SGLang native: tokens so far come with each chunk', () => {
    expect(read('native', recording('generate-stream-sglang-0.5.23.sse'))).toEqual({
      chunkAtMs: [1, 2, 3, 4, 5, 6, 7],
      chunkTokens: [1, 2, 3, 4, 5, 6, 8],
      outputTokens: 8,
      promptTokens: 8,
      cachedTokens: 7,
      finishReason: 'length',
      tokensFrom: 'server',
    });
  });

  test('SGLang native with speculation: verify steps are read from the last event', () => {
    const facts = read('native', recording('spec-generate-stream-sglang-0.5.23.sse'));
    expect(facts).toMatchObject({ outputTokens: 32, verifyCount: 8, promptTokens: 2 });
    expect(facts.chunkTokens).toEqual([1, 5, 9, 13, 17, 21, 25, 29, 32]);
  });

  test('SGLang completions with usage on every chunk: several tokens in one chunk are seen', () => {
    const facts = read(
      'openai-completions',
      recording('v1-completions-stream-usage-continuous-sglang-0.5.23.sse'),
    );
    expect(facts.chunkTokens).toEqual([1, 2, 4, 5, 6, 7, 8]);
    expect(facts).toMatchObject({ outputTokens: 8, promptTokens: 8, finishReason: 'length' });
    expect(facts.error).toBeUndefined();
  });

  test.each([
    { name: 'v1-chat-completions-stream-usage-sglang-0.5.23.sse', tokens: 8, prompt: 18 },
    { name: 'v1-chat-stream-usage-llama-server-b10434.sse', tokens: 8, prompt: 19 },
    { name: 'v1-completions-stream-usage-llama-server-b10434.sse', tokens: 16, prompt: 4 },
  ])('$name: usage at the end is the total, not a chunk', ({ name, tokens, prompt }) => {
    const facts = read('openai-chat', recording(name));
    expect(facts).toMatchObject({
      outputTokens: tokens,
      promptTokens: prompt,
      chunkTokens: [],
      tokensFrom: 'server',
      finishReason: 'length',
    });
    expect(facts.error).toBeUndefined();
  });

  test.each([
    { name: 'err-context-generate-stream-sglang-0.5.23.sse', api: 'native', status: 400 },
    { name: 'queue-overflow-3-sglang-0.5.23.sse', api: 'openai-completions', status: 503 },
    {
      name: 'err-mid-stream-500-in-200-sse-llama-server-b10434.sse',
      api: 'openai-chat',
      status: 500,
    },
  ] as const)('$name is an error inside a 200 stream', ({ name, api, status }) => {
    const { error, outputTokens } = read(api, recording(name));
    expect(error).toMatchObject({ kind: 'error-event', httpStatus: status });
    expect(error?.message).not.toBe('');
    expect(outputTokens).toBe(0);
  });

  test('reasoning, content and tool calls are output alike', () => {
    expect(read('openai-chat', recording('mixed-made.sse'))).toMatchObject({
      chunkTokens: [3, 4, 9],
      outputTokens: 9,
      finishReason: 'tool_calls',
    });
  });
});

const folder = new URL('../../fixtures/sse/', import.meta.url);
const openAiRecordings = readdirSync(folder).filter((name) => !name.includes('generate'));

test.each(openAiRecordings)('%s says the same when every event of it is parsed', (name) => {
  const bytes = recording(name);
  // A blank more is the same JSON, but nothing that is read without parsing.
  const spaced = bytes
    .toString('latin1')
    .replaceAll('"finish_reason":null', '"finish_reason": null');
  expect(read('openai-chat', bytes)).toEqual(read('openai-chat', Buffer.from(spaced, 'latin1')));
});

describe('native dialects', () => {
  const event = (text: string, completion_tokens: number, finish_reason: unknown = null) => ({
    text,
    meta_info: { completion_tokens, prompt_tokens: 5, finish_reason },
  });

  test('text that contains the name of the count does not forge it', () => {
    const facts = read(
      'native',
      events(
        { meta_info: { completion_tokens: 2 }, text: '"completion_tokens":99 and {"error":1}' },
        event('x', 3, { type: 'stop' }),
      ),
    );
    expect(facts.chunkTokens).toEqual([2, 3]);
    expect(facts.error).toBeUndefined();
  });

  test('deltas (incremental streaming output) count like cumulative text', () => {
    const facts = read(
      'native',
      events(event('a', 1), event('b', 4), event('', 4, { type: 'stop' })),
    );
    expect(facts).toMatchObject({ chunkTokens: [1, 4], outputTokens: 4, finishReason: 'stop' });
  });

  test('a finish reason of abort is a failure with its message', () => {
    const abort = { type: 'abort', message: 'Out of memory', status_code: 500 };
    expect(read('native', events(event('a', 1), event('a', 1, abort))).error).toEqual({
      kind: 'error-event',
      message: 'Out of memory',
      httpStatus: 500,
    });
  });
});

describe('OpenAI dialects', () => {
  const delta = (fields: object, usage?: number, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason }],
    ...(usage === undefined ? {} : { usage: { prompt_tokens: 3, completion_tokens: usage } }),
  });

  test('400 reasoning deltas and 20 content deltas are 420 tokens (C5)', () => {
    const reasoning = Array.from({ length: 400 }, () => delta({ reasoning_content: 'r' }));
    const content = Array.from({ length: 20 }, () => delta({ content: 'c' }));
    const facts = read('openai-chat', events(...reasoning, ...content, delta({}, 420, 'stop')));
    expect(facts.outputTokens).toBe(420);
    expect(facts.chunkAtMs[0]).toBe(1);
    expect(facts.chunkAtMs).toHaveLength(420);
  });

  test('a stream without usage is estimated, never taken for counted (C3)', () => {
    const facts = read(
      'openai-chat',
      events(delta({ content: 'a' }), delta({}, undefined, 'stop')),
    );
    expect(facts).toMatchObject({ tokensFrom: 'estimated', outputTokens: 1, chunkTokens: [] });
  });

  test('a chunk without text whose usage grew is a token', () => {
    const facts = read(
      'openai-chat',
      events(
        delta({ content: 'a' }, 1),
        delta({ content: '' }, 2),
        delta({ content: 'é' }, 3, 'stop'),
      ),
    );
    expect(facts.chunkTokens).toEqual([1, 2, 3]);
  });

  test('a stream that ends without finish reason is truncated', () => {
    expect(read('openai-chat', events(delta({ content: 'a' }, 1))).error?.kind).toBe('truncated');
  });

  test('an answer without any token is a failure', () => {
    expect(read('openai-chat', events(delta({}, 0, 'stop'))).error?.kind).toBe('no-tokens');
  });
});
