import type { PromptSource } from '../load-run.ts';
import { chatTasks, chatTemplates, chatWords } from './chat-text.ts';
import { codeTasks, codeTemplates, codeWords } from './code-text.ts';
import { fillTemplate, type Vocabulary } from './fill-template.ts';
import { documentTasks, documentTemplates, documentWords } from './long-context-text.ts';
import { requestSalt, type SeededRandom, seededRandom } from './seeded-random.ts';

/** English and code take about this many characters per token in today's vocabularies. */
const CHARACTERS_PER_TOKEN = 4;

export interface PromptSeed {
  /** Length of a prompt in tokens, about; the server's own count is what is recorded. */
  readonly inputTokens: number;
  readonly seed: number;
  /** Differs for every load run, so that no prompt was ever seen by the server's cache. */
  readonly salt: string;
}

/** Blocks of text to string together, and what to ask about them at the end. */
interface Material {
  readonly name: string;
  readonly words: Vocabulary;
  readonly tasks: readonly string[];
  /** Templates of the blocks of one prompt. */
  blocks(random: SeededRandom): readonly string[];
}

const materials = {
  code: {
    name: 'code',
    words: codeWords,
    tasks: codeTasks,
    // One language per prompt, as in a real file.
    blocks: (random) => codeTemplates[random.pick(Object.keys(codeTemplates))] ?? [],
  },
  chat: { name: 'chat', words: chatWords, tasks: chatTasks, blocks: () => chatTemplates },
  'long-context': {
    name: 'long-context',
    words: documentWords,
    tasks: documentTasks,
    blocks: () => documentTemplates,
  },
} satisfies Record<string, Material>;

/**
 * Natural prompts written for this project: unique per request, reproducible from seed and salt.
 * Each starts with its salt, so that no two share a prefix that a cache could answer (C9).
 */
export function naturalPrompts(kind: keyof typeof materials, options: PromptSeed): PromptSource {
  const material: Material = materials[kind];
  return {
    name: kind,
    cacheable: false,
    prompt: (index) => ({ kind: 'text', text: compose(material, options, index) }),
  };
}

function compose(
  material: Material,
  { inputTokens, seed, salt }: PromptSeed,
  index: number,
): string {
  const random = seededRandom(material.name, seed, salt, index);
  const templates = material.blocks(random);
  const head = `${requestSalt(seed, salt, index)}\n\n`;
  const task = `\n${fillTemplate(random.pick(material.tasks), material.words, random)}\n`;
  const length = Math.max(0, inputTokens * CHARACTERS_PER_TOKEN - head.length - task.length);
  let body = '';
  while (body.length < length) {
    body += `${fillTemplate(random.pick(templates), material.words, random)}${separator(material)}`;
  }
  return head + body.slice(0, length) + task;
}

function separator({ name }: Material): string {
  return name === 'code' ? '\n' : '';
}
