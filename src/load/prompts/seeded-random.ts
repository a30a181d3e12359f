import { createHash } from 'node:crypto';

/** A reproducible stream of random choices. */
export interface SeededRandom {
  /** Integer in 0..below-1. */
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
}

/** The stream that belongs to these keys: same keys, same choices, on every machine. */
export function seededRandom(...keys: readonly (string | number)[]): SeededRandom {
  let state = createHash('sha256').update(JSON.stringify(keys)).digest().readUInt32LE(0);
  // mulberry32 (T. Ettinger, public domain): short, and good enough to choose words.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}

/** 16 hexadecimal digits that differ for every request of every run; put first in a prompt. */
export function requestSalt(seed: number, salt: string, index: number | string): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, salt, index]))
    .digest('hex')
    .slice(0, 16);
}
