import { dirname, resolve } from 'node:path';
import { readCount } from './number-fields.ts';
import { type KeyPath, type Problems, show, suggest } from './problems.ts';
import type { WorkloadConfig } from './study.ts';
import { PROMPT_KINDS, type WorkloadSection } from './study-schema.ts';

/**
 * End-of-sequence is ignored by default, so that every configuration produces the same number of
 * tokens (field report C8). 23066 is the token that the reference benchmark repeats.
 */
export const DEFAULT_WORKLOAD: WorkloadConfig = {
  prompts: 'code',
  inputTokens: 1000,
  outputTokens: 1000,
  ignoreEos: true,
  api: 'native',
  seed: 1,
  tokenId: 23066,
};

/** A workload, what it leaves out taken from `defaults`; mistakes go to `problems`. */
export function readWorkload(
  path: KeyPath,
  section: WorkloadSection,
  defaults: WorkloadConfig,
  file: string,
  problems: Problems,
): WorkloadConfig {
  const count = (
    key: 'input_tokens' | 'output_tokens' | 'seed' | 'token_id',
    fallback: number,
    minimum = 1,
  ) => readCount([...path, key], section[key] ?? fallback, problems, minimum);
  const requests = section.requests ?? defaults.requests;
  return {
    prompts:
      section.prompts === undefined
        ? defaults.prompts
        : readPrompts([...path, 'prompts'], section.prompts, file, problems),
    inputTokens: count('input_tokens', defaults.inputTokens),
    outputTokens: count('output_tokens', defaults.outputTokens),
    ignoreEos: section.ignore_eos ?? defaults.ignoreEos,
    api: section.api ?? defaults.api,
    ...(requests !== undefined && {
      requests: readCount([...path, 'requests'], requests, problems),
    }),
    seed: count('seed', defaults.seed, 0),
    tokenId: count('token_id', defaults.tokenId, 0),
  };
}

export function isPromptKind(prompts: string): boolean {
  return (PROMPT_KINDS as readonly string[]).includes(prompts);
}

/** A bundled kind as it is, a file as an absolute path; a word that looks like neither is a slip. */
function readPrompts(path: KeyPath, written: string, file: string, problems: Problems): string {
  if (isPromptKind(written)) return written;
  if (/[./\\]/.test(written)) return resolve(dirname(file), written);
  problems.add(path, `${show(written)} is neither a kind of prompts nor a file`, {
    hint: suggest(written, PROMPT_KINDS),
  });
  return written;
}
