/** Square matrix by rows. */
export type Matrix = readonly Float64Array[];

/**
 * Lower triangle L of a symmetric positive definite matrix, with `L L^T` equal to it. Takes
 * `n^3 / 3` operations. Undefined when the matrix is not positive definite.
 */
export function cholesky(matrix: Matrix): Matrix | undefined {
  const lower = matrix.map((row) => new Float64Array(row.length));
  for (const [i, row] of matrix.entries()) {
    const own = lower[i] ?? row;
    for (let j = 0; j <= i; j += 1) {
      const other = lower[j] ?? row;
      let rest = row[j] ?? 0;
      for (let k = 0; k < j; k += 1) rest -= (own[k] ?? 0) * (other[k] ?? 0);
      if (i === j) {
        if (!(rest > 0)) return undefined;
        own[j] = Math.sqrt(rest);
      } else own[j] = rest / (other[j] ?? 1);
    }
  }
  return lower;
}

/** Solves `L x = right` for a lower triangle. */
export function solveLower(lower: Matrix, right: ArrayLike<number>): Float64Array {
  const x = new Float64Array(lower.length);
  for (const [i, row] of lower.entries()) {
    let rest = right[i] ?? 0;
    for (let k = 0; k < i; k += 1) rest -= (row[k] ?? 0) * (x[k] ?? 0);
    x[i] = rest / (row[i] ?? 1);
  }
  return x;
}

/** Solves `L^T x = right` for a lower triangle. */
export function solveUpper(lower: Matrix, right: ArrayLike<number>): Float64Array {
  const n = lower.length;
  const x = new Float64Array(n);
  for (let i = n - 1; i >= 0; i -= 1) {
    let rest = right[i] ?? 0;
    for (let k = i + 1; k < n; k += 1) rest -= (lower[k]?.[i] ?? 0) * (x[k] ?? 0);
    x[i] = rest / (lower[i]?.[i] ?? 1);
  }
  return x;
}

export function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i += 1) total += (a[i] ?? 0) * (b[i] ?? 0);
  return total;
}
