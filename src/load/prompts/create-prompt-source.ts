import { existsSync } from 'node:fs';
import { UserError } from '../../errors.ts';
import type { PromptSource } from '../load-run.ts';
import { filePrompts } from './file-prompts.ts';
import { naturalPrompts, type PromptSeed } from './natural-prompts.ts';
import { type SessionShape, sessionPrompts } from './session-prompts.ts';
import { fixedTokenPrompts, type IdRange, randomIdPrompts } from './token-prompts.ts';

export interface PromptOptions extends PromptSeed {
  /** A name of `promptSources`, or the path of a file. */
  readonly prompts: string;
  /** Token id of `fixed-token`. */
  readonly tokenId: number;
  /** Ids of `random-ids`; default 1000 to 29,999. */
  readonly idRange?: IdRange | undefined;
  /** Shape of `agentic`. */
  readonly session?: SessionShape | undefined;
}

/** Add a source here: the study schema and `bench --prompts` read their choices from the keys. */
export const promptSources = {
  code: (options) => naturalPrompts('code', options),
  chat: (options) => naturalPrompts('chat', options),
  'long-context': (options) => naturalPrompts('long-context', options),
  agentic: (options) => sessionPrompts(options),
  'fixed-token': fixedTokenPrompts,
  'random-ids': randomIdPrompts,
} satisfies Record<string, (options: PromptOptions) => PromptSource>;

/** The source of that name, else that file. Throws UserError when it is neither. */
export function createPromptSource(options: PromptOptions): PromptSource {
  const registry: Readonly<Record<string, (options: PromptOptions) => PromptSource>> =
    promptSources;
  const make = Object.hasOwn(registry, options.prompts) ? registry[options.prompts] : undefined;
  if (make !== undefined) return make(options);
  if (existsSync(options.prompts)) return filePrompts(options.prompts, options);
  throw new UserError(`there are no prompts '${options.prompts}'`, {
    hint: `one of ${Object.keys(registry).join(', ')}, or the path of a text, JSON or JSONL file`,
  });
}
