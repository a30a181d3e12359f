import { hashText, mix } from './random.ts';

/** What a draft head can make of a prompt: decides accept length and how answers end. */
export type PromptKind = 'repeated' | 'code' | 'text' | 'random';

/** A tokenized prompt. */
export interface PromptTokens {
  readonly ids: readonly number[];
  readonly kind: PromptKind;
  /** Identity of the whole prompt; equal prompts get equal answers. */
  readonly hash: number;
}

const PIECE = / ?[A-Za-z]{1,8}| ?\d{1,3}|[^\sA-Za-z0-9]|\s/g;
const VOCABULARY = 151_936;
const CODE_CHARACTERS = /[{}()[\];=<>_#]/g;

/** A prompt of so few different ids counts as a repeated token, however long it is. */
const REPEATED_IDS = 8;
/** Share of distinct ids above which a list of ids looks random: text of that length repeats more. */
const RANDOM_SHARE = 0.8;
/** Characters per 100 that make a text code. */
const CODE_PER_100 = 4;

function hashIds(ids: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const id of ids) hash = mix(hash, id);
  return hash;
}

/** Kind of a prompt that came as token ids. Short lists say nothing and count as text. */
function kindOfIds(ids: readonly number[]): PromptKind {
  if (ids.length < 20) return 'text';
  const distinct = new Set(ids).size;
  if (distinct <= REPEATED_IDS) return 'repeated';
  return distinct / ids.length > RANDOM_SHARE ? 'random' : 'text';
}

function kindOfText(text: string, ids: readonly number[]): PromptKind {
  if (kindOfIds(ids) === 'repeated') return 'repeated';
  const codeCharacters = text.match(CODE_CHARACTERS)?.length ?? 0;
  return (codeCharacters * 100) / Math.max(1, text.length) > CODE_PER_100 ? 'code' : 'text';
}

/** Prompt given as token ids. */
export function promptFromIds(ids: readonly number[]): PromptTokens {
  return { ids, kind: kindOfIds(ids), hash: hashIds(ids) };
}

/** Prompt given as text, cut into words and signs: about four characters a token, as in English. */
export function promptFromText(text: string): PromptTokens {
  const ids = (text.match(PIECE) ?? []).map((piece) => hashText(piece) % VOCABULARY);
  return { ids, kind: kindOfText(text, ids), hash: hashIds(ids) };
}
