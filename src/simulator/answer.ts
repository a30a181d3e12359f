import type { PromptKind } from './prompt.ts';
import { createRandom, mix, stratified } from './random.ts';

/**
 * Share of answers to the reference prompt (one token repeated) that end early, by requests in
 * flight: fitted to the token counts of the reference table. A single one never does.
 */
const EARLY_SHARE: readonly (readonly [inFlight: number, share: number])[] = [
  [1, 0],
  [2, 0.2],
  [4, 0.25],
  [16, 0.165],
  [32, 0.384],
  [64, 0.492],
  [128, 0.515],
];
const EARLY_LENGTH = { from: 0.4, to: 0.6 } as const;

/** Mean answer tokens, and spread, of the other kinds when end of sequence is not ignored. */
const NATURAL_LENGTH: Readonly<
  Record<Exclude<PromptKind, 'repeated'>, { mean: number; spread: number }>
> = {
  code: { mean: 1100, spread: 0.45 },
  text: { mean: 700, spread: 0.5 },
  random: { mean: 1500, spread: 0.6 },
};

function earlyShare(inFlight: number): number {
  let [low, lowShare] = EARLY_SHARE[0] ?? [1, 0];
  for (const [high, highShare] of EARLY_SHARE) {
    if (inFlight <= high) {
      if (high === low) return inFlight < high ? 0 : highShare;
      const at = Math.log(Math.max(inFlight, low) / low) / Math.log(high / low);
      return lowShare + (highShare - lowShare) * at;
    }
    low = high;
    lowShare = highShare;
  }
  return lowShare;
}

/**
 * Tokens after which an answer would end by itself; Infinity if not within `maxNewTokens`.
 *
 * Repeated-token answers drift apart with the batch they run in, so their length depends on the
 * requests in flight and on a sequence that meets the shares even over 8 requests. Other answers
 * depend on the prompt only.
 */
export function naturalEnd(
  kind: PromptKind,
  promptHash: number,
  maxNewTokens: number,
  inFlight: number,
  sequence: { readonly index: number; readonly seed: number },
): number {
  if (kind === 'repeated') {
    const share = earlyShare(inFlight);
    const at = stratified(sequence.index, sequence.seed);
    if (at >= share || maxNewTokens < 64) return Infinity;
    const { from, to } = EARLY_LENGTH;
    return Math.max(2, Math.round(maxNewTokens * (from + ((to - from) * at) / share)));
  }
  const { mean, spread } = NATURAL_LENGTH[kind];
  const normal = createRandom(mix(promptHash, 0x27d4eb2f)).normal();
  return Math.max(8, Math.round(mean * Math.exp(spread * normal - (spread * spread) / 2)));
}

const WORDS =
  'the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many off before must well back through years much where your way down should because long each just state those people too mr how little good world make very year still see own work men day get here old life both between being under three never know same last another while us might great go come since against right came take used himself few house American use place during high without again home around small however found Mrs part school thought went say general once upon every left war does'.split(
    ' ',
  );

/** Id of the `index`-th token of the answer to a prompt. */
export function answerToken(promptHash: number, index: number): number {
  return 1000 + (mix(promptHash, index) % WORDS.length);
}

/** Text of an answer token: ASCII, with nothing that JSON would escape. */
export function tokenText(id: number): string {
  return ` ${WORDS[(id - 1000) % WORDS.length] ?? 'x'}`;
}
