import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import type { Prompt } from '../../../src/load/load-run.ts';
import { chatTasks, chatTemplates, chatWords } from '../../../src/load/prompts/chat-text.ts';
import { codeTasks, codeTemplates, codeWords } from '../../../src/load/prompts/code-text.ts';
import {
  createPromptSource,
  promptSources,
} from '../../../src/load/prompts/create-prompt-source.ts';
import { fillTemplate } from '../../../src/load/prompts/fill-template.ts';
import {
  documentTasks,
  documentTemplates,
  documentWords,
} from '../../../src/load/prompts/long-context-text.ts';
import { seededRandom } from '../../../src/load/prompts/seeded-random.ts';

const options = { inputTokens: 500, seed: 7, salt: 'sweep-1', tokenId: 23_066 };
const asText = (prompt: Prompt): string =>
  prompt.kind === 'text' ? prompt.text : JSON.stringify(prompt);

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

describe.each(['code', 'chat', 'long-context'])('natural prompts: %s', (prompts) => {
  test('no two prompts of a ladder share a prefix (C9)', () => {
    const all = [1, 4, 16].flatMap((concurrency) =>
      [0, 1].flatMap((repeat) => {
        const salt = `sweep-1/${concurrency}/${repeat}`;
        const source = createPromptSource({ ...options, prompts, salt });
        return Array.from({ length: Math.max(4, 2 * concurrency) }, (_, i) =>
          asText(source.prompt(i)),
        );
      }),
    );
    const ascending = all.toSorted();
    const longest = ascending.slice(1).map((text, i) => commonPrefix(text, ascending[i] ?? ''));
    // Random hexadecimal digits of the salt agree by chance in a few places, never in all 16.
    expect(Math.max(...longest)).toBeLessThan(10);
    expect(new Set(all).size).toBe(all.length);
  });

  test('the same seed and salt give the same prompts, another salt none of them (C9)', () => {
    const make = (salt: string) => {
      const source = createPromptSource({ ...options, prompts, salt });
      return Array.from({ length: 8 }, (_, i) => asText(source.prompt(i)));
    };
    expect(make('a')).toEqual(make('a'));
    expect(make('b').filter((text) => make('a').includes(text))).toEqual([]);
  });

  test('a prompt is about four characters per token long', () => {
    const source = createPromptSource({ ...options, prompts });
    for (let i = 0; i < 20; i += 1) expect(asText(source.prompt(i)).length).toBe(2000);
  });
});

test.each([
  { name: 'code', words: codeWords, texts: [...Object.values(codeTemplates).flat(), ...codeTasks] },
  { name: 'chat', words: chatWords, texts: [...chatTemplates, ...chatTasks] },
  { name: 'long-context', words: documentWords, texts: [...documentTemplates, ...documentTasks] },
])('every template of $name can be filled', ({ words, texts }) => {
  for (const text of texts) {
    expect(fillTemplate(text, words, seededRandom('test', text))).not.toMatch(/<(#|noun|Noun)>/);
  }
});

test('fixed-token sends the same ids every time and says so', () => {
  const source = createPromptSource({ ...options, prompts: 'fixed-token' });
  expect(source.cacheable).toBe(true);
  expect(source.prompt(0)).toEqual({ kind: 'ids', ids: new Array(500).fill(23_066) });
  expect(source.prompt(1)).toEqual(source.prompt(0));
});

test('random ids differ between requests and have the length asked for', () => {
  const source = createPromptSource({ ...options, prompts: 'random-ids' });
  const [first, second] = [source.prompt(0), source.prompt(1)];
  expect(first).not.toEqual(second);
  expect(first.kind === 'ids' && first.ids.length).toBe(500);
});

test('an unknown name lists the choices', () => {
  const make = () => createPromptSource({ ...options, prompts: 'cdoe' });
  expect(make).toThrow(UserError);
  for (const name of Object.keys(promptSources)) {
    try {
      make();
    } catch (error) {
      expect(error instanceof UserError && error.hint).toContain(name);
    }
  }
});
