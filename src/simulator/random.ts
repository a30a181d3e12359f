/** A seeded source of numbers in [0, 1): the same seed gives the same sequence on every machine. */
export interface Random {
  next(): number;
  /** Standard normal, by Box-Muller. */
  normal(): number;
}

/** mulberry32: small, fast, good enough for noise; not for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return { next, normal };
}

/** FNV-1a over the UTF-16 units of `text`, as an unsigned 32-bit number. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed >>> 0;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}

/** Mixes two 32-bit numbers into one; for seeds that must differ per purpose. */
export function mix(a: number, b: number): number {
  let h = Math.imul((a >>> 0) ^ 0x9e3779b9, 0x85ebca6b) ^ (b >>> 0);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Bit-reversed `index`, xor-scrambled by `seed`, in [0, 1): any 2^m consecutive indices put exactly
 * one number into each of 2^m equal intervals, so shares are met even over few requests.
 */
export function stratified(index: number, seed: number): number {
  let bits = index >>> 0;
  let reversed = 0;
  for (let i = 0; i < 32; i += 1) {
    reversed = ((reversed << 1) | (bits & 1)) >>> 0;
    bits >>>= 1;
  }
  // The four top bits stay: which of 16 in a row falls where decides how ragged a run ends.
  return ((reversed ^ (mix(seed, 0x5bd1e995) >>> 4)) >>> 0) / 2 ** 32;
}
