import { readFileSync } from 'node:fs';
import { UserError } from '../../errors.ts';
import type { ChatMessage, Prompt, PromptSource } from '../load-run.ts';
import { isObject, parseJson } from '../stream-error.ts';
import type { PromptSeed } from './natural-prompts.ts';
import { requestSalt, seededRandom } from './seeded-random.ts';

/**
 * Prompts of a file: JSONL with `{"prompt": "..."}` or `{"messages": [...]}` on each line, else
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
    ? text
        .split('\n')
        .flatMap((line, i) => (line.trim() === '' ? [] : [parseLine(path, line, i + 1)]))
    : paragraphs(text);
  if (prompts.length === 0) throw new UserError(`the prompt file ${path} holds no prompt`);
  return prompts;
}

function paragraphs(text: string): Prompt[] {
  const parts = text.split(/\n\s*\n/).map((part) => part.trim());
  return parts.filter((part) => part !== '').map((part) => ({ kind: 'text', text: part }));
}

function parseLine(path: string, line: string, number: number): Prompt {
  const value = parseJson(line);
  if (isObject(value)) {
    const { prompt, messages } = value;
    if (typeof prompt === 'string' && prompt !== '') return { kind: 'text', text: prompt };
    if (Array.isArray(messages) && messages.length > 0 && messages.every(isMessage)) {
      return { kind: 'messages', messages };
    }
  }
  throw new UserError(`${path}:${number}: no prompt on this line`, {
    hint: 'each line must be {"prompt": "text"} or {"messages": [{"role": "user", "content": "text"}]}',
  });
}

function isMessage(value: unknown): value is ChatMessage {
  return (
    isObject(value) && typeof value['role'] === 'string' && typeof value['content'] === 'string'
  );
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
