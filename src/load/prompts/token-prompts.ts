import type { PromptSource } from '../load-run.ts';
import type { PromptSeed } from './natural-prompts.ts';
import { seededRandom } from './seeded-random.ts';

/** Token ids from `from` up to, not including, `below`. */
export interface IdRange {
  readonly from: number;
  readonly below: number;
}

/** Ids that exist in every vocabulary of a served model and are no control tokens. */
const COMMON_IDS: IdRange = { from: 1000, below: 30_000 };

/**
 * One token id repeated, every prompt the same: the reference benchmark's workload. The prefix
 * cache answers all but the first, hence `cacheable`.
 */
export function fixedTokenPrompts(
  options: PromptSeed & { readonly tokenId: number },
): PromptSource {
  const ids = new Array<number>(options.inputTokens).fill(options.tokenId);
  return {
    name: 'fixed-token',
    cacheable: true,
    natural: false,
    prompt: () => ({ kind: 'ids', ids }),
  };
}

/**
 * Random token ids, different in every request. Speculation does badly on them (field report C21):
 * no workload to judge it by. A model of a small vocabulary needs an `idRange` within it.
 */
export function randomIdPrompts({
  inputTokens,
  seed,
  salt,
  idRange = COMMON_IDS,
  sharedPrefixFraction = 0,
}: PromptSeed & { readonly idRange?: IdRange | undefined }): PromptSource {
  const idsOf = (key: string | number, length: number): number[] => {
    const random = seededRandom('random-ids', seed, salt, key);
    const span = idRange.below - idRange.from;
    return Array.from({ length }, () => idRange.from + random.below(span));
  };
  const shared = idsOf('shared', Math.round(inputTokens * sharedPrefixFraction));
  return {
    name: 'random-ids',
    cacheable: false,
    natural: false,
    sharedFraction: sharedPrefixFraction,
    prompt: (index) => ({
      kind: 'ids',
      ids: [...shared, ...idsOf(index, inputTokens - shared.length)],
    }),
  };
}
