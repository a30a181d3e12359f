import type { Api } from './load-run.ts';
import { NoAnswerError } from './network-failure.ts';
import { type CompletionRequest, completeOnce, type ServerAccess } from './server-probe.ts';

/** Answers at temperature 0 to the guard's prompts, in their order. */
export type GuardOutputs = readonly string[];

interface KnownAnswer {
  readonly prompt: string;
  /** The answer is right when it contains this within its first words. */
  readonly answer: RegExp;
}

/** Continuations that every language model knows, base models included. */
const KNOWN_ANSWERS: readonly KnownAnswer[] = [
  { prompt: 'The capital of France is', answer: /paris/i },
  { prompt: 'Monday, Tuesday, Wednesday, Thursday,', answer: /friday/i },
  { prompt: 'One, two, three, four, five, six,', answer: /seven|7/i },
  { prompt: 'Question: What is 2 + 2? Answer: 2 + 2 =', answer: /4|four/i },
  { prompt: 'The opposite of hot is', answer: /cold|cool/i },
  { prompt: 'January, February, March, April,', answer: /may/i },
];

/** Longer answers to look at for garbage. */
const FREE_PROMPTS: readonly string[] = [
  'Explain in plain words why the sky is blue in the daytime and red at sunset.',
  'Write a Python function that merges two sorted lists, with a short explanation.',
  'The old lighthouse keeper had not spoken to anybody for a month when',
];

const KNOWN_TOKENS = 32;
const FREE_TOKENS = 128;
/** Of the server's time; a fast simulated one still needs sockets and a turn on the processor. */
const TIMEOUT_MS = 120_000;
const LEAST_TIMEOUT_MS = 3000;

/** Known answers that a sound configuration may miss: greedy text changes with batch and kernel (C20). */
const MISSES_ALLOWED = 1;
/** Share of an answer that may be control or replacement characters. */
const UNPRINTABLE_FRACTION = 0.05;
/** An answer of at least this many pieces, this share of them the same, is one token repeated. */
const MIN_PIECES = 12;
const REPEATED_FRACTION = 0.8;

/** Asks all prompts, one after the other so that the batch is the same for every configuration. */
export async function askGuardPrompts(
  server: ServerAccess & { readonly api: Api; readonly model: string; readonly timeScale?: number },
  signal?: AbortSignal,
): Promise<GuardOutputs> {
  const timeoutMs = Math.max(LEAST_TIMEOUT_MS, TIMEOUT_MS / (server.timeScale ?? 1));
  const prompts = [
    ...KNOWN_ANSWERS.map(({ prompt }) => ({ prompt, outputTokens: KNOWN_TOKENS })),
    ...FREE_PROMPTS.map((prompt) => ({ prompt, outputTokens: FREE_TOKENS })),
  ];
  const outputs: string[] = [];
  for (const { prompt, outputTokens } of prompts) {
    const request = { outputTokens, ignoreEos: false, timeoutMs };
    const text = { kind: 'text', text: prompt } as const;
    outputs.push(await askPatiently({ ...server, ...request, prompt: text }, signal));
  }
  return outputs;
}

/** A server under pressure refuses now and then: that is for the load run to count. */
const ATTEMPTS = 5;

/** @throws NoAnswerError when the server refuses every time. */
async function askPatiently(request: CompletionRequest, signal?: AbortSignal): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await completeOnce(request, signal)).text;
    } catch (error) {
      if (!(error instanceof NoAnswerError) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** How strict a comparison with the baseline is. */
export interface GuardStrictness {
  /**
   * Least mean share of common first words of the free answers, 0 to 1; default 0. Texts differ
   * between sound configurations, so this is for those who know that theirs should not.
   */
  readonly minSimilarity?: number;
  /** Known answers that a configuration may miss although the baseline has them; default 1. */
  readonly missesAllowed?: number;
}

/**
 * What is wrong with the outputs of a configuration, as clauses; empty when nothing is.
 *
 * Only what the baseline does better counts: a model that repeats itself, or knows no capital,
 * does so in every configuration (field report C6). Without a baseline everything counts except
 * the known answers.
 */
export function judgeOutputs(
  candidate: GuardOutputs,
  baseline: GuardOutputs | undefined,
  { minSimilarity = 0, missesAllowed = MISSES_ALLOWED }: GuardStrictness = {},
): readonly string[] {
  const problems: string[] = [];
  for (const [what, isBad] of checks) {
    const [ours, theirs] = [count(candidate, isBad), count(baseline ?? [], isBad)];
    if (ours > theirs) problems.push(`${ours} of ${candidate.length} answers ${what}`);
  }
  if (baseline === undefined) return problems;
  const known = KNOWN_ANSWERS.filter(({ answer }, i) => answer.test(baseline[i] ?? ''));
  const right = KNOWN_ANSWERS.filter(
    ({ answer }, i) => answer.test(baseline[i] ?? '') && answer.test(candidate[i] ?? ''),
  );
  if (right.length < known.length - missesAllowed) {
    problems.push(`${right.length} known answers right, the baseline has ${known.length}`);
  }
  const similarity = meanSimilarity(candidate, baseline);
  if (similarity < minSimilarity) {
    problems.push(`answers share ${similarity.toFixed(2)} of the baseline's first words`);
  }
  return problems;
}

const checks: readonly (readonly [what: string, isBad: (text: string) => boolean])[] = [
  ['are empty', (text) => text.trim() === ''],
  ['are not printable', (text) => unprintableFraction(text) > UNPRINTABLE_FRACTION],
  ['repeat one token', isOneTokenRepeated],
];

function count(outputs: GuardOutputs, isBad: (text: string) => boolean): number {
  return outputs.filter(isBad).length;
}

function unprintableFraction(text: string): number {
  const characters = Array.from(text);
  const bad = characters.filter(
    (c) => /[\p{Cc}\p{Cn}\p{Co}\p{Cs}\ufffd]/u.test(c) && !/\s/.test(c),
  );
  return bad.length / Math.max(1, characters.length);
}

/** `!!!!!!`, `the the the the`: judged by words, and by characters where there are few words. */
function isOneTokenRepeated(text: string): boolean {
  const words = text.trim().split(/\s+/);
  const pieces = words.length >= MIN_PIECES ? words : Array.from(text.replace(/\s+/g, ''));
  if (pieces.length < MIN_PIECES) return false;
  const counts = new Map<string, number>();
  for (const piece of pieces) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  return Math.max(...counts.values()) / pieces.length >= REPEATED_FRACTION;
}

function meanSimilarity(candidate: GuardOutputs, baseline: GuardOutputs): number {
  const shares = baseline.slice(KNOWN_ANSWERS.length).map((text, i) => {
    const [theirs, ours] = [text, candidate[KNOWN_ANSWERS.length + i] ?? ''].map((t) =>
      t.trim().split(/\s+/),
    );
    const same = theirs?.findIndex((word, at) => word !== ours?.[at]) ?? -1;
    return same === -1 ? 1 : same / (theirs?.length ?? 1);
  });
  return shares.length === 0
    ? 1
    : shares.reduce((total, share) => total + share, 0) / shares.length;
}
