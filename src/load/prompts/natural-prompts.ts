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
  /** Share of each prompt that all prompts of the run have in common, 0 to 1; default 0. */
  readonly sharedPrefixFraction?: number | undefined;
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
 * Each starts with its salt, so that no two share a prefix that a cache could answer (C9), unless
 * a shared prefix is asked for: then all start with the same text, salted for the run.
 */
export function naturalPrompts(kind: NaturalKind, options: PromptSeed): PromptSource {
  const { inputTokens, seed, salt, sharedPrefixFraction = 0 } = options;
  const length = inputTokens * CHARACTERS_PER_TOKEN;
  const sharedLength = Math.round(length * sharedPrefixFraction);
  const shared =
    sharedLength === 0
      ? ''
      : naturalText(kind, sharedLength, { ...options, keys: ['shared'] }) + SECTION_END;
  return {
    name: kind,
    cacheable: false,
    natural: true,
    sharedFraction: sharedPrefixFraction,
    prompt: (index) => {
      const at = { seed, salt, keys: [index] };
      const task = naturalTask(kind, at);
      const own = naturalText(kind, length - shared.length - task.length, at);
      return { kind: 'text', text: shared + own + task };
    },
  };
}

/** The salt alone makes a prompt unique: never cut. */
const SALT_CHARACTERS = 16;
const SECTION_END = '\n\n---\n\n';

export type NaturalKind = keyof typeof materials;

/** What a text is made from: same seed, salt and keys, same text. */
export interface TextSeed {
  readonly seed: number;
  readonly salt: string;
  readonly keys: readonly (string | number)[];
}

/** `length` characters of text of this kind that start with a salt of their own. */
export function naturalText(kind: NaturalKind, length: number, at: TextSeed): string {
  const material: Material = materials[kind];
  const random = seededRandom(kind, at.seed, at.salt, ...at.keys);
  const templates = material.blocks(random);
  let text = `${requestSalt(at.seed, at.salt, at.keys.join('/'))}\n\n`;
  while (text.length < length) {
    text += `${fillTemplate(random.pick(templates), material.words, random)}${separator(material)}`;
  }
  return text.slice(0, Math.max(length, SALT_CHARACTERS));
}

/** What is asked about a text of this kind. */
export function naturalTask(kind: NaturalKind, { seed, salt, keys }: TextSeed): string {
  const material: Material = materials[kind];
  const random = seededRandom(kind, 'task', seed, salt, ...keys);
  return `\n${fillTemplate(random.pick(material.tasks), material.words, random)}\n`;
}

function separator({ name }: Material): string {
  return name === 'code' ? '\n' : '';
}
