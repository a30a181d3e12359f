/**
 * The candidate most like `name`, or undefined when none is near enough to be meant: at most a
 * third of its letters differ, or one contains the other. Upper and lower case, dashes and
 * underscores count as equal. The first of equally near candidates.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(name);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const folded = fold(candidate);
    const distance = isPartOf(wanted, folded) ? 1 : editDistance(wanted, folded);
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, folded.length) / 3));
    if (distance <= allowed && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/^--?/, '').replaceAll('_', '-');
}

/** Shorter parts than four letters are in nearly every name. */
function isPartOf(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  return short.length >= 4 && long.includes(short);
}

/**
 * Letters to insert, delete, replace or swap with their neighbour to get from `a` to `b`
 * (optimal string alignment): swapped neighbours are the most frequent slip of typing.
 */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, at(previous, j) + 1, at(current, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforePrevious, j - 2) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
