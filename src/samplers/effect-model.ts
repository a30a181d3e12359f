import { cholesky, dot, type Matrix, solveLower, solveUpper } from '../metrics/linear-algebra.ts';
import { driftCovariance, effectCovariance, likenessRow, scalesOf } from './effect-kernel.ts';
import type { Levels } from './levels.ts';
import { DRIFT, PRIORS, type Settings, startSettings } from './model-settings.ts';

/** One launch: the levels of its assignment, its log score, and its place in the order of launches. */
export interface Observation {
  readonly levels: Int16Array;
  readonly logScore: number;
  readonly at: number;
  /** Stretch between jumps of the machine. */
  readonly era: number;
}

/** What the model expects of an assignment, and how sure it is; noise of a launch not included. */
export interface Prediction {
  readonly mean: number;
  readonly standardDeviation: number;
}

export interface EffectModel {
  readonly predict: (levels: Int16Array) => Prediction;
  readonly settings: Settings;
}

/** Steps of the search for the settings, in natural logarithms; each is gone through until it helps no more. */
const STEPS = [1.2, 0.5];
const PASSES = 3;

/**
 * Learns main effects and interactions of parameter values on the log score.
 *
 * A Gaussian process (effect-kernel.ts) whose settings are those of the highest posterior, found
 * by stepping one at a time from their priors; a few dozen launches cost milliseconds, memory
 * grows with launches squared. Drift of the machine (a line and a random walk over the order of
 * launches, a level per stretch between jumps) is fitted beside the effects and left out of
 * predictions.
 */
export function fitEffects(
  observations: readonly Observation[],
  likeness: Levels['likeness'],
): EffectModel {
  const centre = meanOf(observations);
  const data: Data = {
    values: observations.map(({ logScore }) => logScore - centre),
    alike: observations.map((a, i) =>
      observations.slice(0, i + 1).map((b) => likenessRow(a.levels, b.levels, likeness)),
    ),
    observations,
  };
  const settings = bestSettings(data, likeness.length);
  const { lower, weights } = solved(data, settings);
  const scales = scalesOf(settings);
  return {
    settings,
    predict: (levels) => {
      const shared = Float64Array.from(observations, (one) =>
        effectCovariance(likenessRow(levels, one.levels, likeness), scales),
      );
      const explained = solveLower(lower, shared);
      const own = effectCovariance(likenessRow(levels, levels, likeness), scales);
      return {
        mean: centre + dot(shared, weights),
        standardDeviation: Math.sqrt(Math.max(own - dot(explained, explained), 1e-12)),
      };
    },
  };
}

interface Data {
  readonly observations: readonly Observation[];
  /** Log scores less their mean. */
  readonly values: readonly number[];
  /** Likeness by parameter of each pair, lower triangle. */
  readonly alike: readonly (readonly Float64Array[])[];
}

function meanOf(observations: readonly Observation[]): number {
  const total = observations.reduce((sum, { logScore }) => sum + logScore, 0);
  return observations.length === 0 ? 0 : total / observations.length;
}

function bestSettings(data: Data, parameters: number): Settings {
  let best = startSettings(parameters);
  if (data.values.length < 3) return best;
  let height = posterior(data, best);
  for (const step of STEPS) {
    for (let pass = 0, improved = true; improved && pass < PASSES; pass += 1) {
      improved = false;
      for (const index of best.keys()) {
        for (const by of [step, -step]) {
          const tried = best.map((value, i) => (i === index ? value + by : value));
          const reached = posterior(data, tried);
          if (reached <= height) continue;
          [best, height, improved] = [tried, reached, true];
          break;
        }
      }
    }
  }
  return best;
}

/** Log posterior of the settings, constants left out. */
function posterior(data: Data, settings: Settings): number {
  const { lower, half } = solved(data, settings);
  let height = -0.5 * dot(half, half);
  for (const [i, row] of lower.entries()) height -= Math.log(row[i] ?? 1);
  for (const [index, value] of settings.entries()) {
    const { centre, spread } = PRIORS[index] ??
      PRIORS[PRIORS.length - 1] ?? { centre: 0, spread: 1 };
    height -= 0.5 * ((value - centre) / spread) ** 2;
  }
  return height;
}

function solved({ observations, values, alike }: Data, settings: Settings) {
  const noise = Math.exp(2 * (settings[DRIFT.noise] ?? 0));
  const scales = scalesOf(settings);
  const drift = driftCovariance(observations, settings);
  const covariance: Matrix = alike.map((row, i) => {
    const line = new Float64Array(alike.length);
    for (const [j, one] of row.entries()) line[j] = effectCovariance(one, scales) + drift(i, j);
    line[i] = (line[i] ?? 0) + noise;
    return line;
  });
  const lower = cholesky(covariance);
  if (lower === undefined) throw new Error('a covariance with noise has a Cholesky factor');
  const half = solveLower(lower, values);
  return { lower, half, weights: solveUpper(lower, half) };
}
