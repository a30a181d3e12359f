/** Lanczos coefficients for g = 7, n = 9 (P. Godfrey, 2001); relative error about 1e-15. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];

/** Natural logarithm of the gamma function for positive arguments. */
export function logGamma(z: number): number {
  if (z < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * z)) - logGamma(1 - z);
  const shifted = z - 1;
  const base = shifted + 7.5;
  let sum = 0;
  LANCZOS.forEach((coefficient, i) => {
    sum += i === 0 ? coefficient : coefficient / (shifted + i);
  });
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(sum);
}
