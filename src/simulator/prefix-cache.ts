import { mix } from './random.ts';

/**
 * Prefix cache over prompts: blocks of `blockTokens`, each known by the hash of everything before
 * and in it. A hybrid model can only resume where a state was kept, hence whole blocks.
 */
export class PrefixCache {
  /** Insertion order is the order of last use. */
  readonly #blocks = new Map<number, true>();
  readonly #blockTokens: number;
  readonly #maxBlocks: number;

  constructor(blockTokens: number, capacityTokens: number) {
    this.#blockTokens = blockTokens;
    this.#maxBlocks = Math.max(1, Math.floor(capacityTokens / blockTokens));
  }

  /** Tokens of `ids` that need no prefill, at least one token is always computed; remembers `ids`. */
  matchAndInsert(ids: readonly number[]): number {
    let hash = 0;
    let matched = 0;
    let matching = true;
    for (let end = this.#blockTokens; end < ids.length; end += this.#blockTokens) {
      for (let i = end - this.#blockTokens; i < end; i += 1) hash = mix(hash, ids[i] ?? 0);
      matching = matching && this.#blocks.has(hash);
      if (matching) matched = end;
      this.#blocks.delete(hash);
      this.#blocks.set(hash, true);
    }
    this.#evict();
    return matched;
  }

  clear(): void {
    this.#blocks.clear();
  }

  get tokens(): number {
    return this.#blocks.size * this.#blockTokens;
  }

  #evict(): void {
    for (const hash of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#maxBlocks) return;
      this.#blocks.delete(hash);
    }
  }
}
