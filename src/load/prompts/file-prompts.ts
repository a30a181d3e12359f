import { readFileSync } from 'node:fs';
import { UserError } from '../../errors.ts';
import type { Prompt, PromptSource } from '../load-run.ts';
import type { PromptSeed } from './natural-prompts.ts';
import { promptsOfJson, promptsOfJsonl } from './prompt-records.ts';
import { requestSalt, seededRandom } from './seeded-random.ts';

/**
 * Prompts of a file: a JSON list (ShareGPT), JSONL (bench_serving's custom set, OpenAI chat), else
 * text with one prompt per paragraph (empty line between). Taken in an order that depends on the
 * seed, from the start again when used up, each with its own salt in front; their length is their
 * own. Throws UserError naming file and line.
 */
export function filePrompts(path: string, { seed, salt }: PromptSeed): PromptSource {
  const prompts = readPrompts(path);
  const first = seededRandom('file', seed).below(prompts.length);
  return {
    name: path,
    cacheable: false,
    natural: true,
    prompt: (index) => {
      const prompt = prompts[(first + index) % prompts.length];
      if (prompt === undefined) throw new Error('prompt index must be a natural number');
      return salted(prompt, requestSalt(seed, salt, index));
    },
  };
}

function readPrompts(path: string): readonly Prompt[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UserError(`cannot read the prompt file ${path}`, { cause });
  }
  const prompts = path.endsWith('.jsonl')
    ? promptsOfJsonl(path, text)
    : path.endsWith('.json')
      ? promptsOfJson(path, text)
      : paragraphs(text);
  if (prompts.length === 0) throw new UserError(`the prompt file ${path} holds no prompt`);
  return prompts;
}

function paragraphs(text: string): Prompt[] {
  const parts = text.split(/\n\s*\n/).map((part) => part.trim());
  return parts.filter((part) => part !== '').map((part) => ({ kind: 'text', text: part }));
}

function salted(prompt: Prompt, salt: string): Prompt {
  if (prompt.kind === 'ids') return prompt;
  if (prompt.kind === 'text') return { kind: 'text', text: `${salt}\n\n${prompt.text}` };
  const [first, ...rest] = prompt.messages;
  if (first === undefined) return prompt;
  return {
    kind: 'messages',
    messages: [{ ...first, content: `${salt}\n\n${first.content}` }, ...rest],
  };
}
