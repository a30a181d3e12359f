/** Each concurrency of a profile costs minutes in every launch. */
const MAX_BINS = 6;
/** A smaller share cannot decide between configurations. */
const LEAST_SHARE = 0.02;
/** Shares are written with three digits. */
const PARTS = 1000;

/**
 * The profile of observed serving times: each concurrency goes to the nearest power of two (on a
 * logarithmic scale, as throughput changes by ratio), then the smallest bin joins its nearest
 * neighbour until at most six are left and none is below 2 %. Shares have three digits and sum
 * to 1; ascending; empty when nothing was served.
 */
export function binProfile(
  secondsByConcurrency: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const bins = new Map<number, number>();
  let total = 0;
  for (const [concurrency, seconds] of secondsByConcurrency) {
    if (!(seconds > 0)) continue;
    const bin = 2 ** Math.round(Math.log2(concurrency));
    bins.set(bin, (bins.get(bin) ?? 0) + seconds);
    total += seconds;
  }
  if (total === 0) return new Map();
  let shares = [...bins]
    .map(([concurrency, seconds]) => ({ concurrency, share: seconds / total }))
    .sort((a, b) => a.concurrency - b.concurrency);
  while (shares.length > 1) {
    const smallest = shares.reduce((least, one) => (one.share < least.share ? one : least));
    if (shares.length <= MAX_BINS && smallest.share >= LEAST_SHARE) break;
    shares = joined(shares, smallest);
  }
  return rounded(shares);
}

interface Share {
  readonly concurrency: number;
  readonly share: number;
}

/** Without `gone`, whose share its nearest neighbour gets; the larger one of equally near. */
function joined(shares: readonly Share[], gone: Share): Share[] {
  const others = shares.filter((one) => one !== gone);
  const distance = (one: Share) => Math.abs(Math.log2(one.concurrency / gone.concurrency));
  const [heir] = [...others].sort((a, b) => distance(a) - distance(b) || b.share - a.share);
  return others.map((one) => (one === heir ? { ...one, share: one.share + gone.share } : one));
}

/** Largest remainder: rounding never makes the shares miss 1. */
function rounded(shares: readonly Share[]): ReadonlyMap<number, number> {
  const parts = shares.map(({ concurrency, share }) => {
    const exact = share * PARTS;
    return { concurrency, whole: Math.floor(exact), rest: exact - Math.floor(exact) };
  });
  const missing = PARTS - parts.reduce((sum, { whole }) => sum + whole, 0);
  const raised = new Set([...parts].sort((a, b) => b.rest - a.rest).slice(0, missing));
  return new Map(
    parts.map((part) => [part.concurrency, (part.whole + (raised.has(part) ? 1 : 0)) / PARTS]),
  );
}
