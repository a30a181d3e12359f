import { normalBelow, normalDensity } from '../metrics/normal.ts';
import { mean } from '../metrics/statistics.ts';
import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { fitEffects, type Observation, type Prediction } from './effect-model.ts';
import { feasibilityOf } from './feasibility.ts';
import { levelsOf } from './levels.ts';
import type { FinishedTrial } from './sampler.ts';

/** What the finished trials of a study let expect of any assignment. */
export interface Forecast {
  /** Log score, on the scale of the finished trials. */
  readonly predict: (assignment: Assignment) => Prediction;
  /** Chance that it starts and survives its load. */
  readonly feasibility: (assignment: Assignment) => number;
  /**
   * Expected gain over the best so far, times the chance that it runs, relative to the seconds
   * that a launch of it takes: what the next launch should have most of.
   */
  readonly promise: (assignment: Assignment) => number;
}

/** Launches learnt from at most, the best and the latest: fitting costs their number cubed. */
const LEARNT_FROM = 160;

/** Learns from finished trials, the baseline among them. */
export function forecastOf(
  parameters: ReadonlyMap<string, readonly FlagValue[]>,
  finished: readonly FinishedTrial[],
): Forecast {
  const levels = levelsOf([...parameters.keys()], function* valuesOf(name) {
    yield* parameters.get(name) ?? [];
    for (const { assignment } of finished) yield assignment[name] ?? null;
  });
  const launched = finished.filter(({ state }) => state !== 'skipped' && state !== 'failed');
  const observations = learntFrom(launched).map(
    ({ assignment, at, era = 0, logScore }): Observation => {
      return { levels: levels.of(assignment), at, era, logScore };
    },
  );
  const model = fitEffects(observations, levels.likeness);
  const runs = feasibilityOf(
    launched.map((one) => ({
      levels: levels.of(one.assignment),
      ran: (one.launches ?? []).length > 0,
    })),
  );
  const best = Math.max(...observations.map((one) => model.predict(one.levels).mean));
  const cost = costOf(launched, levels.of);
  return {
    predict: (assignment) => model.predict(levels.of(assignment)),
    feasibility: (assignment) => runs(levels.of(assignment)),
    promise: (assignment) => {
      const own = levels.of(assignment);
      return (expectedGain(model.predict(own), best) * runs(own)) / cost(own);
    },
  };
}

function learntFrom(launched: readonly FinishedTrial[]) {
  const all = launched
    .flatMap(({ assignment, launches = [] }) => launches.map((one) => ({ ...one, assignment })))
    .sort((a, b) => a.at - b.at);
  if (all.length <= LEARNT_FROM) return all;
  const best = [...all].sort((a, b) => b.logScore - a.logScore).slice(0, LEARNT_FROM / 2);
  return [...new Set([...all.slice(-LEARNT_FROM / 2), ...best])].sort((a, b) => a.at - b.at);
}

/** Expected improvement over `best` of a normal value. @see Jones et al. (1998), J. Global Optim. 13 */
function expectedGain({ mean: centre, standardDeviation }: Prediction, best: number): number {
  const z = (centre - best) / standardDeviation;
  // Never below zero by rounding far down the tail, where the order still matters.
  return Math.max(
    standardDeviation * (z * normalBelow(z) + normalDensity(z)),
    Number.MIN_VALUE * Math.exp(z),
  );
}

/** Seconds of a launch relative to the study's mean: those of the launches like it, by values shared. */
function costOf(
  launched: readonly FinishedTrial[],
  levelsOfAssignment: (assignment: Assignment) => Int16Array,
): (levels: Int16Array) => number {
  const known = launched.flatMap(({ assignment, seconds }) =>
    seconds === undefined || !(seconds > 0)
      ? []
      : { levels: levelsOfAssignment(assignment), log: Math.log(seconds) },
  );
  const centre = mean(known.map(({ log }) => log)) ?? 0;
  return (levels) => {
    let weights = 1;
    let total = 0;
    for (const one of known) {
      let apart = 0;
      for (let p = 0; p < levels.length; p += 1) if (levels[p] !== one.levels[p]) apart += 1;
      const weight = 0.5 ** apart;
      weights += weight;
      total += weight * (one.log - centre);
    }
    return Math.exp(total / weights);
  };
}
