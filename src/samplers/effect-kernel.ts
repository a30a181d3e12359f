import type { Levels } from './levels.ts';
import { DRIFT, EFFECT, type Settings } from './model-settings.ts';

/** Settings as the kernel uses them, so that no exponential is taken per pair of launches. */
export interface Scales {
  /** Variances. */
  readonly level: number;
  readonly pairs: number;
  readonly rest: number;
  readonly strengths: Float64Array;
}

/** Prior deviation of the overall level: practically free. */
const LEVEL_VARIANCE = 0.3 ** 2;
/** Main effects of this size interact by the factor `pairs`, larger ones by more. */
const COMMON_EFFECT = 0.04;
/** What of the rest two assignments still share that differ in one parameter. */
const REST_SHARED = 0.4;
/**
 * Prior deviation of the level of each later stretch between jumps: practically free. The first
 * one is the reference; a free level of its own could not be told from that of the scores.
 */
const ERA_VARIANCE = 0.1 ** 2;

export function scalesOf(settings: Settings): Scales {
  return {
    level: LEVEL_VARIANCE,
    pairs: (Math.exp(settings[EFFECT.pairs] ?? 0) / COMMON_EFFECT) ** 2,
    rest: Math.exp(2 * (settings[EFFECT.rest] ?? 0)),
    strengths: Float64Array.from(settings.slice(EFFECT.firstStrength), (log) => Math.exp(2 * log)),
  };
}

/** Likeness of two assignments, parameter by parameter. */
export function likenessRow(
  a: Int16Array,
  b: Int16Array,
  likeness: Levels['likeness'],
): Float64Array {
  const row = new Float64Array(a.length);
  for (let p = 0; p < a.length; p += 1) row[p] = likeness[p]?.[a[p] ?? -1]?.[b[p] ?? -1] ?? 0;
  return row;
}

/**
 * Covariance of the log scores of two assignments: `level + sum_p m_p + pairs sum_{p<q} m_p m_q +
 * rest product_p (..)` with `m_p = strength_p^2 likeness_p`. A pair interacts the more the stronger
 * its two main effects are (heredity); the rest, shared by assignments that differ in little,
 * stands for whatever does not follow that.
 *
 * @see Durrande et al. (2013), ANOVA kernels and RKHS of zero mean functions for model-based
 *   sensitivity analysis, J. Multivariate Anal. 115
 */
export function effectCovariance(alike: Float64Array, scales: Scales): number {
  const { strengths } = scales;
  let sum = 0;
  let squares = 0;
  let rest = scales.rest;
  for (let p = 0; p < alike.length; p += 1) {
    const likeness = alike[p] ?? 0;
    const main = likeness * (strengths[p] ?? 0);
    sum += main;
    squares += main * main;
    rest *= REST_SHARED + (1 - REST_SHARED) * likeness;
  }
  return scales.level + sum + scales.pairs * 0.5 * (sum * sum - squares) + rest;
}

/** Covariance that the state of the machine adds to two launches, by their index. */
export function driftCovariance(
  launches: readonly { readonly at: number; readonly era: number }[],
  settings: Settings,
): (i: number, j: number) => number {
  const times = launches.map(({ at }) => at);
  const origin = Math.min(...times);
  const span = Math.max(1, Math.max(...times) - origin);
  const line = Math.exp(2 * (settings[DRIFT.line] ?? 0));
  const walk = Math.exp(2 * (settings[DRIFT.walk] ?? 0));
  return (i, j) => {
    const [a, b] = [launches[i], launches[j]];
    if (a === undefined || b === undefined) return 0;
    const [s, t] = [(a.at - origin) / span, (b.at - origin) / span];
    const era = a.era > 0 && a.era === b.era ? ERA_VARIANCE : 0;
    return line * (s - 0.5) * (t - 0.5) + walk * Math.min(s, t) + era;
  };
}
