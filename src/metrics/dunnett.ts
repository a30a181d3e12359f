import { logGamma } from './log-gamma.ts';
import { normalBelow, normalDensity } from './normal.ts';
import { studentTQuantile } from './student-t.ts';

/** Steps of the outer (scale) and inner (shared control) integral: error below 1e-4 in the share. */
const SCALE_STEPS = 96;
const CONTROL_STEPS = 64;

/** Degrees above which the t distribution is taken as normal. */
const MANY_DEGREES = 5000;

const known = new Map<string, number>();

/**
 * Two-sided critical value of Dunnett's comparison of `candidates` means with one control, all of
 * the same number of values: with it all intervals hold together with probability `confidence`.
 * One candidate: Student's t. Found by bisection on the multivariate t integral (correlation 1/2);
 * agrees with published tables to 0.01.
 *
 * @see Dunnett, C. W. (1955), A multiple comparison procedure for comparing several treatments
 *   with a control, J. Amer. Statist. Assoc. 50, 1096-1121
 */
export function dunnettCritical(
  candidates: number,
  degreesOfFreedom: number,
  confidence: number,
): number {
  const alpha = 1 - confidence;
  const single = studentTQuantile(1 - alpha / 2, degreesOfFreedom);
  if (candidates <= 1) return single;
  const key = [candidates, degreesOfFreedom.toFixed(2), confidence].join('/');
  const before = known.get(key);
  if (before !== undefined) return before;
  let low = single;
  let high = studentTQuantile(1 - alpha / (2 * candidates), degreesOfFreedom);
  while (high - low > 1e-4 * high) {
    const middle = (low + high) / 2;
    if (shareInside(middle, candidates, degreesOfFreedom) < confidence) low = middle;
    else high = middle;
  }
  if (known.size > 1000) known.clear();
  known.set(key, high);
  return high;
}

/** Chance that no candidate's |t| exceeds `critical` when all means are equal. */
function shareInside(critical: number, candidates: number, degreesOfFreedom: number): number {
  const inside = shareOfReach(candidates);
  if (degreesOfFreedom > MANY_DEGREES) return inside(critical);
  // s is a chi variable over its root of degrees; nearly all of it lies within five deviations.
  const spread = 5 / Math.sqrt(2 * degreesOfFreedom);
  const [from, to] = [Math.max(1e-9, 1 - spread), 1 + Math.max(spread, 1.5 * spread ** 2)];
  return simpson(from, to, SCALE_STEPS, (s) => {
    const density = chiScaleDensity(s, degreesOfFreedom);
    return density < 1e-12 ? 0 : density * inside(critical * s);
  });
}

const REACH_STEP = 0.02;
const REACH_MAX = 12;
const tables = new Map<number, Float64Array>();

/** The inner integral, the control's own error z integrated out, from a table made once. */
function shareOfReach(candidates: number): (reach: number) => number {
  let table = tables.get(candidates);
  if (table === undefined) {
    const reaches = Array.from({ length: REACH_MAX / REACH_STEP + 1 }, (_, i) => i * REACH_STEP);
    table = Float64Array.from(reaches, (reach) =>
      simpson(-6, 6, CONTROL_STEPS, (z) => {
        const wide = reach * Math.SQRT2;
        return normalDensity(z) * (normalBelow(z + wide) - normalBelow(z - wide)) ** candidates;
      }),
    );
    tables.set(candidates, table);
  }
  const values = table;
  return (reach) => {
    const at = Math.floor(reach / REACH_STEP);
    const low = values[at];
    const high = values[at + 1];
    if (low === undefined || high === undefined) return 1;
    return low + (high - low) * (reach / REACH_STEP - at);
  };
}

/** Density of `sqrt(chi^2 / degrees)`. */
function chiScaleDensity(s: number, degrees: number): number {
  const half = degrees / 2;
  return Math.exp(
    Math.LN2 + half * Math.log(half) - logGamma(half) + (degrees - 1) * Math.log(s) - half * s * s,
  );
}

function simpson(from: number, to: number, steps: number, of: (x: number) => number): number {
  const width = (to - from) / steps;
  let total = of(from) + of(to);
  for (let i = 1; i < steps; i += 1) total += (i % 2 === 1 ? 4 : 2) * of(from + i * width);
  return (total * width) / 3;
}
