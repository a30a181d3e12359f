/** An assignment that was launched, and whether it ran. */
export interface Attempt {
  readonly levels: Int16Array;
  readonly ran: boolean;
}

/** Weight of a pair of values against a single one as the cause of a failure, before data. */
const PAIR_WEIGHT = 0.4;
/** Rounds in which blame moves to what explains several failures. */
const ROUNDS = 4;

/**
 * Chance that an assignment runs, learnt from those that did and did not.
 *
 * A failure is the fault of one value or of one pair of values in it (flags that do not fit into
 * memory, that exclude each other). What also took part in a run is innocent; the others share the
 * blame, the more the more failures they explain. An assignment runs unless one of its suspects is
 * a cause: `product (1 - blame)`.
 */
export function feasibilityOf(attempts: readonly Attempt[]): (levels: Int16Array) => number {
  const failures = attempts.filter(({ ran }) => !ran);
  if (failures.length === 0) return () => 1;
  const innocent = new Set<number>();
  for (const { levels, ran } of attempts) {
    if (ran) for (const { key } of partsOf(levels)) innocent.add(key);
  }
  const suspects = failures.map(({ levels }) =>
    [...partsOf(levels)].filter(({ key }) => !innocent.has(key)),
  );
  let blame = new Map<number, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const shared = new Map<number, number>();
    for (const list of suspects) {
      const weights = list.map(({ key, weight }) => weight * (0.05 + (blame.get(key) ?? 0)));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [i, { key }] of list.entries()) {
        shared.set(key, (shared.get(key) ?? 0) + (weights[i] ?? 0) / total);
      }
    }
    blame = shared;
  }
  return (levels) => {
    let chance = 1;
    for (const { key } of partsOf(levels)) {
      const own = blame.get(key);
      if (own !== undefined) chance *= 1 - Math.min(0.95, own);
    }
    return chance;
  };
}

/** The values and pairs of values of an assignment, numbered. */
function* partsOf(
  levels: Int16Array,
): Generator<{ readonly key: number; readonly weight: number }, void, undefined> {
  const most = 65_536;
  const one = (p: number) => p * 256 + (levels[p] ?? 0) + 1;
  for (let p = 0; p < levels.length; p += 1) {
    yield { key: one(p), weight: 1 };
    for (let q = p + 1; q < levels.length; q += 1) {
      yield { key: one(p) * most + one(q), weight: PAIR_WEIGHT };
    }
  }
}
