import { UserError } from '../../errors.ts';
import type { ChatMessage, Prompt } from '../load-run.ts';
import { isObject, parseJson } from '../stream-error.ts';

const SHAPES =
  '{"prompt": "text"}, {"messages": [{"role": "user", "content": "text"}]}, or ShareGPT’s {"conversations": [{"from": "human", "value": "text"}]}';

/** Prompts of a JSONL file; throws UserError naming file and line. */
export function promptsOfJsonl(path: string, text: string): readonly Prompt[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return [];
    const prompt = promptOf(parseJson(line));
    if (prompt === undefined) {
      throw new UserError(`${path}:${i + 1}: no prompt on this line`, {
        hint: `each line must be ${SHAPES}`,
      });
    }
    return [prompt];
  });
}

/** Prompts of a JSON file: a list of records; throws UserError naming file and record. */
export function promptsOfJson(path: string, text: string): readonly Prompt[] {
  const list = parseJson(text);
  if (!Array.isArray(list)) {
    throw new UserError(`${path} is no JSON list of prompts`, { hint: `a list of ${SHAPES}` });
  }
  const prompts = list.map((record: unknown, i) => {
    // ShareGPT's own file has conversations that are empty or begin with an answer.
    if (isObject(record) && isConversation(record['conversations'])) return firstHumanTurn(record);
    const prompt = promptOf(record);
    if (prompt !== undefined) return prompt;
    throw new UserError(`${path}: record ${i + 1} holds no prompt`, {
      hint: `each must be ${SHAPES}`,
    });
  });
  return prompts.filter((prompt) => prompt !== undefined);
}

/** The prompt in a record of any known shape; undefined when there is none. */
function promptOf(record: unknown): Prompt | undefined {
  if (!isObject(record)) return undefined;
  const { prompt, body } = record;
  if (typeof prompt === 'string' && prompt !== '') return { kind: 'text', text: prompt };
  // OpenAI's batch files wrap the request.
  const messages = record['messages'] ?? (isObject(body) ? body['messages'] : undefined);
  if (messages !== undefined) return conversation(messages);
  return isConversation(record['conversations']) ? firstHumanTurn(record) : undefined;
}

function conversation(value: unknown): Prompt | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const messages = value.map((message: unknown) => {
    if (!isObject(message) || typeof message['role'] !== 'string') return undefined;
    const content = textOf(message['content']);
    return content === undefined ? undefined : { role: message['role'], content };
  });
  const whole = messages.filter((message): message is ChatMessage => message !== undefined);
  return whole.length === value.length ? { kind: 'messages', messages: whole } : undefined;
}

/** Content as text; the text parts of a list of parts. */
function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part: unknown) => (isObject(part) ? part['text'] : undefined));
  const strings = texts.filter((text) => typeof text === 'string');
  return strings.length === 0 ? undefined : strings.join('\n');
}

function isConversation(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/**
 * First turn of a ShareGPT conversation (`from`, `value`) or of bench_serving's custom data set
 * (`content`, first the user's); undefined when that is no human's.
 */
function firstHumanTurn(record: Record<string, unknown>): Prompt | undefined {
  const turns = record['conversations'];
  const first: unknown = Array.isArray(turns) ? turns[0] : undefined;
  if (!isObject(first)) return undefined;
  const from = first['from'] ?? first['role'] ?? 'human';
  if (from !== 'human' && from !== 'user') return undefined;
  const text = first['value'] ?? first['content'];
  return typeof text === 'string' && text !== '' ? { kind: 'text', text } : undefined;
}
