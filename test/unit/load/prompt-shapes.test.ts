import { describe, expect, test } from 'vitest';
import type { Prompt } from '../../../src/load/load-run.ts';
import { createPromptSource } from '../../../src/load/prompts/create-prompt-source.ts';
import { promptsOfJson, promptsOfJsonl } from '../../../src/load/prompts/prompt-records.ts';

const text = (value: string): Prompt => ({ kind: 'text', text: value });
const base = { inputTokens: 400, seed: 1, salt: 's', tokenId: 5 };

describe('a prompt file', () => {
  test.each([
    { what: 'a prompt', line: { prompt: 'a' }, want: text('a') },
    {
      what: 'an OpenAI chat',
      line: { messages: [{ role: 'user', content: 'a' }], max_tokens: 5 },
      want: { kind: 'messages', messages: [{ role: 'user', content: 'a' }] },
    },
    {
      what: 'a chat of parts, in a batch request',
      line: { body: { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] } },
      want: { kind: 'messages', messages: [{ role: 'user', content: 'a' }] },
    },
    {
      what: 'a conversation of ShareGPT',
      line: {
        conversations: [
          { from: 'human', value: 'a' },
          { from: 'gpt', value: 'b' },
        ],
      },
      want: text('a'),
    },
    {
      what: 'a conversation of bench_serving’s custom set',
      line: { conversations: [{ content: 'a' }, { content: 'b' }] },
      want: text('a'),
    },
  ])('may hold $what', ({ line, want }) => {
    expect(promptsOfJsonl('f.jsonl', JSON.stringify(line))).toEqual([want]);
    expect(promptsOfJson('f.json', JSON.stringify([line]))).toEqual([want]);
  });

  test('of ShareGPT may hold conversations without a question, which are passed over', () => {
    const records = [
      { conversations: [] },
      { conversations: [{ from: 'gpt', value: 'b' }] },
      { conversations: [{ from: 'human', value: 'a' }] },
    ];
    expect(promptsOfJson('f.json', JSON.stringify(records))).toEqual([text('a')]);
  });

  test('that is wrong is named with its line or record', () => {
    expect(() => promptsOfJsonl('f.jsonl', '{"prompt":"a"}\n\n{"x":1}')).toThrow('f.jsonl:3');
    expect(() => promptsOfJson('f.json', '[{"prompt":"a"},{"x":1}]')).toThrow('record 2');
    expect(() => promptsOfJson('f.json', '{"prompt":"a"}')).toThrow('no JSON list');
  });
});

const textAt = (source: { prompt(i: number): Prompt }, index: number): string => {
  const prompt = source.prompt(index);
  return prompt.kind === 'text' ? prompt.text : JSON.stringify(prompt);
};
const commonLength = (a: string, b: string): number => {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
};

describe('a shared prefix', () => {
  const source = createPromptSource({ ...base, prompts: 'code', sharedPrefixFraction: 0.5 });

  test('of half the prompt is the same in every prompt, the rest is not', () => {
    const [a, b] = [textAt(source, 0), textAt(source, 1)];
    expect(commonLength(a, b)).toBeGreaterThanOrEqual(800);
    expect(commonLength(a, b)).toBeLessThan(830);
    expect(a.length).toBeGreaterThan(1500);
    expect(a.length).toBeLessThan(1700);
  });

  test('is another one in another run', () => {
    const other = createPromptSource({
      ...base,
      salt: 't',
      prompts: 'code',
      sharedPrefixFraction: 0.5,
    });
    expect(commonLength(textAt(source, 0), textAt(other, 0))).toBeLessThan(4);
  });
});

describe('agentic sessions', () => {
  const session = { turns: 3, pauseSeconds: 2 };
  const source = createPromptSource({ ...base, prompts: 'agentic', session });
  const messages = (index: number) => {
    const prompt = source.prompt(index);
    return prompt.kind === 'messages' ? prompt.messages : [];
  };

  test('grow by the answer and the tool result of each turn', () => {
    expect(messages(1).slice(0, 2)).toEqual(messages(0));
    expect(messages(2).slice(0, 4)).toEqual(messages(1));
    expect(messages(2)).toHaveLength(6);
  });

  test('share their instructions and nothing else', () => {
    expect(messages(3)[0]).toEqual(messages(0)[0]);
    expect(messages(3)[1]).not.toEqual(messages(0)[1]);
  });

  test('pause for the mean that was asked for', () => {
    const pauses = Array.from({ length: 4000 }, (_, i) => source.pauseMs?.(i) ?? 0);
    expect(pauses.reduce((a, b) => a + b) / pauses.length / 2000).toBeCloseTo(1, 1);
  });

  test('of the same seed and salt are the same', () => {
    const again = createPromptSource({ ...base, prompts: 'agentic', session });
    expect(again.prompt(4)).toEqual(source.prompt(4));
  });
});

test('random ids stay in the range of a small vocabulary', () => {
  const idRange = { from: 3, below: 512 };
  const prompt = createPromptSource({ ...base, prompts: 'random-ids', idRange }).prompt(0);
  const ids = prompt.kind === 'ids' ? prompt.ids : [];
  expect(Math.min(...ids)).toBeGreaterThanOrEqual(3);
  expect(Math.max(...ids)).toBeLessThan(512);
});
