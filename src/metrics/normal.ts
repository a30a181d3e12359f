/** Density of the standard normal distribution. */
export function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
}

/**
 * Share of the standard normal distribution below `z`; absolute error below 1e-13.
 *
 * Series up to 3 (all terms positive, so nothing cancels), continued fraction of Mills' ratio
 * beyond.
 * @see https://dlmf.nist.gov/7.6#E2 and https://dlmf.nist.gov/7.9#E3
 */
export function normalBelow(z: number): number {
  if (z < 0) return 1 - normalBelow(-z);
  if (z > 38) return 1;
  if (z <= 3) {
    let term = z;
    let sum = z;
    for (let k = 3; term > 1e-17 * sum; k += 2) {
      term *= (z * z) / k;
      sum += term;
    }
    return 0.5 + normalDensity(z) * sum;
  }
  let fraction = z;
  for (let k = 60; k >= 1; k -= 1) fraction = z + k / fraction;
  return 1 - normalDensity(z) / fraction;
}

/** The z below which the share `probability` of the standard normal distribution lies. */
export function normalQuantile(probability: number): number {
  if (!(probability > 0 && probability < 1)) {
    throw new RangeError(`no normal quantile of ${probability}`);
  }
  let [low, high] = [-38, 38];
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (normalBelow(middle) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
