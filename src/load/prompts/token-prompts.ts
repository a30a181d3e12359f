import type { PromptSource } from '../load-run.ts';
import type { PromptSeed } from './natural-prompts.ts';
import { seededRandom } from './seeded-random.ts';

/** Ids that exist in every vocabulary of a served model and are no control tokens. */
const RANDOM_IDS = { from: 1000, below: 30_000 };

/**
 * One token id repeated, every prompt the same: the reference benchmark's workload. The prefix
 * cache answers all but the first, hence `cacheable`.
 */
export function fixedTokenPrompts(
  options: PromptSeed & { readonly tokenId: number },
): PromptSource {
  const ids = new Array<number>(options.inputTokens).fill(options.tokenId);
  return { name: 'fixed-token', cacheable: true, prompt: () => ({ kind: 'ids', ids }) };
}

/**
 * Random token ids, different in every request. Speculation does badly on them (field report C21):
 * no workload to judge it by.
 */
export function randomIdPrompts({ inputTokens, seed, salt }: PromptSeed): PromptSource {
  return {
    name: 'random-ids',
    cacheable: false,
    prompt: (index) => {
      const random = seededRandom('random-ids', seed, salt, index);
      const span = RANDOM_IDS.below - RANDOM_IDS.from;
      const ids = Array.from({ length: inputTokens }, () => RANDOM_IDS.from + random.below(span));
      return { kind: 'ids', ids };
    },
  };
}
