import { dirname, resolve } from 'node:path';
import { readArrivals } from './arrivals-section.ts';
import { readCount, readFraction } from './number-fields.ts';
import { type KeyPath, type Problems, show, suggest } from './problems.ts';
import { readSession } from './session-section.ts';
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
  const salt = section.salt ?? defaults.salt;
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
    ...(salt !== undefined && { salt: String(salt) }),
    ...readPromptShape(path, section, defaults, problems),
    ...readArrivals(path, section, defaults, problems),
  };
}

/** Prompts with a part that all of a measurement can have in common. */
const SHARING_PROMPTS = ['code', 'chat', 'long-context', 'random-ids'];

/** The keys that belong to one kind of prompts only; written beside another, they are a mistake. */
function readPromptShape(
  path: KeyPath,
  section: WorkloadSection,
  defaults: WorkloadConfig,
  problems: Problems,
): Pick<WorkloadConfig, 'sharedPrefixFraction' | 'idRange' | 'session'> {
  const prompts = section.prompts ?? defaults.prompts;
  const belongs = (key: keyof WorkloadSection, kinds: readonly string[]): boolean => {
    if (section[key] === undefined || kinds.includes(prompts)) return kinds.includes(prompts);
    const hint = `it belongs to prompts: ${kinds.join(', ')}`;
    problems.add([...path, key], `has no effect on prompts: ${prompts}`, { at: 'key', hint });
    return false;
  };
  const { shared_prefix, id_range, session } = section;
  const sharing = belongs('shared_prefix', SHARING_PROMPTS);
  const shared =
    shared_prefix === undefined
      ? defaults.sharedPrefixFraction
      : readFraction([...path, 'shared_prefix'], shared_prefix, problems);
  const ids = belongs('id_range', ['random-ids']);
  const idRange = id_range === undefined ? defaults.idRange : readIdRange(path, id_range, problems);
  const agentic = belongs('session', ['agentic']);
  const shape = session === undefined ? defaults.session : readSession(path, session, problems);
  return {
    ...(sharing && shared !== undefined && { sharedPrefixFraction: shared }),
    ...(ids && idRange !== undefined && { idRange }),
    ...(agentic && shape !== undefined && { session: shape }),
  };
}

function readIdRange(
  path: KeyPath,
  written: readonly (string | number)[],
  problems: Problems,
): WorkloadConfig['idRange'] {
  const [from, to] = written.map((end, i) => readCount([...path, 'id_range', i], end, problems, 0));
  if (from !== undefined && to !== undefined && to >= from && written.length === 2) {
    return { from, below: to + 1 };
  }
  problems.add([...path, 'id_range'], 'expected the first and the last id, such as [0, 511]');
  return undefined;
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
