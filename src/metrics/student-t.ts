import { logGamma } from './log-gamma.ts';

/**
 * Quantile of Student's t distribution: the t below which the share `probability` lies.
 *
 * `degreesOfFreedom` may be fractional (Welch). Relative error below 1e-11 against closed forms
 * (1, 2 and 4 degrees) and published tables. Throws RangeError outside 0 < probability < 1.
 */
export function studentTQuantile(probability: number, degreesOfFreedom: number): number {
  if (!(probability > 0 && probability < 1) || !(degreesOfFreedom > 0)) {
    throw new RangeError(`no t quantile of ${probability} with ${degreesOfFreedom} degrees`);
  }
  if (probability === 0.5) return 0;
  if (probability < 0.5) return -upperTailInverse(probability, degreesOfFreedom);
  return upperTailInverse(1 - probability, degreesOfFreedom);
}

/** Share of Student's t distribution above `t`. */
export function studentTUpperTail(t: number, degreesOfFreedom: number): number {
  if (t < 0) return 1 - studentTUpperTail(-t, degreesOfFreedom);
  const square = t * t;
  const half = degreesOfFreedom / 2;
  // The smaller of the two arguments keeps full precision in the far tail and near zero alike.
  return square > degreesOfFreedom
    ? 0.5 * regularizedBeta(degreesOfFreedom / (degreesOfFreedom + square), half, 0.5)
    : 0.5 * (1 - regularizedBeta(square / (degreesOfFreedom + square), 0.5, half));
}

/** Positive t whose upper tail is `tail` (below 0.5): bisection on a bracket, then to rounding. */
function upperTailInverse(tail: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = 1;
  while (studentTUpperTail(high, degreesOfFreedom) > tail) {
    low = high;
    high *= 2;
  }
  for (;;) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    if (studentTUpperTail(middle, degreesOfFreedom) > tail) low = middle;
    else high = middle;
  }
}

/**
 * Regularized incomplete beta function I_x(a, b) by its continued fraction (Lentz's method).
 * @see https://dlmf.nist.gov/8.17#v
 */
function regularizedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast only below the mean of the distribution.
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedBeta(1 - x, b, a);
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return (front * betaFraction(x, a, b)) / a;
}

function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1), tiny);
  let value = d;
  for (let m = 1; m < 10_000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let factor = 1;
    for (const numerator of [even, odd]) {
      d = 1 / awayFromZero(1 + numerator * d, tiny);
      c = awayFromZero(1 + numerator / c, tiny);
      factor = c * d;
      value *= factor;
    }
    if (Math.abs(factor - 1) < 1e-16) break;
  }
  return value;
}

function awayFromZero(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}
