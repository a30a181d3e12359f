/** How a trial's throughputs become one number; the keys are what `--score` accepts. */
export const scoreKinds = ['relative', 'time', 'tokens'] as const;
export type ScoreKind = (typeof scoreKinds)[number];

/** Concurrency to share of serving time (`tokens`: of tokens), ascending; shares sum to 1. */
export type Profile = ReadonlyMap<number, number>;

/** Concurrency to output tokens per second. */
export type Speeds = ReadonlyMap<number, number>;

/**
 * Natural logarithm of a score, without the baseline's part. With weights `w_c` and output tokens
 * per second `T_c`:
 * - `relative`: `sum w_c ln T_c`; the difference of two trials is the log of their relative score,
 * - `time`: `ln sum w_c T_c`,
 * - `tokens`: `-ln sum (w_c / T_c)`.
 *
 * On this scale noise that is a share of the throughput has the same size for every trial.
 * Undefined when a weighted concurrency has no speed.
 */
export function logScore(kind: ScoreKind, profile: Profile, speeds: Speeds): number | undefined {
  let total = 0;
  for (const [concurrency, weight] of profile) {
    const speed = speeds.get(concurrency);
    if (speed === undefined) return undefined;
    total += weight * term(kind, speed);
  }
  return fromTotal(kind, total);
}

/** The weighted sum's term at one concurrency: every kind is linear in the weights. */
export function term(kind: ScoreKind, speed: number): number {
  switch (kind) {
    case 'relative':
      return Math.log(speed);
    case 'time':
      return speed;
    case 'tokens':
      return 1 / speed;
  }
}

function fromTotal(kind: ScoreKind, total: number): number {
  switch (kind) {
    case 'relative':
      return total;
    case 'time':
      return Math.log(total);
    case 'tokens':
      return -Math.log(total);
  }
}

/**
 * Change of {@link logScore} per change of `ln T_c`: the weight with which relative noise at one
 * concurrency enters the score. They sum to 1.
 */
export function sensitivity(
  kind: ScoreKind,
  profile: Profile,
  speeds: Speeds,
): ReadonlyMap<number, number> {
  const shares = [...profile].map(([concurrency, weight]) => {
    const speed = speeds.get(concurrency) ?? Number.NaN;
    return [concurrency, kind === 'relative' ? weight : weight * term(kind, speed)] as const;
  });
  const total = shares.reduce((sum, [, share]) => sum + share, 0);
  return new Map(shares.map(([concurrency, share]) => [concurrency, share / total]));
}
