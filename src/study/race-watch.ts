import type { Study } from '../config/study.ts';
import { mean } from '../metrics/statistics.ts';
import { PRIOR_NOISE } from '../ranking/drift.ts';
import { type Gains, lostRace, type Rival } from '../ranking/race.ts';
import { rankTrials } from '../ranking/rank-trials.ts';
import { type Cell, cellsOf, commonKinds } from '../ranking/speeds.ts';
import type { TrialData } from '../ranking/trial-data.ts';

/** Logarithms of speeds by concurrency, by launch. */
type LaunchLogs = ReadonlyMap<number, ReadonlyMap<number, number>>;

/**
 * Why the latest launch of a trial need not go on: even its optimistic end would not win. Undefined
 * while it could, and where there is no baseline to compare with.
 *
 * Each launch is compared with the baseline's launches next before and after it, so that neither
 * an early nor a late hour counts for or against a trial.
 */
export function raceLostBy(
  trial: number,
  data: readonly TrialData[],
  { profile, objective, measure }: Pick<Study, 'profile' | 'objective' | 'measure'>,
): string | undefined {
  const kinds = commonKinds(data);
  const logsOf = (one: TrialData) => launchLogs(cellsOf(one, kinds));
  const baselineData = data.find(({ isBaseline }) => isBaseline);
  const own = data.find((one) => one.trial === trial);
  if (baselineData === undefined || own === undefined) return undefined;
  const baseline = logsOf(baselineData);
  const [launch, logs] = [...logsOf(own)].at(-1) ?? [];
  if (launch === undefined || logs === undefined) return undefined;

  const mayWin = new Set(
    rankTrials({ trials: data, profile, scoreKind: objective.score, limits: objective.limits })
      .trials.filter(({ eligible }) => eligible)
      .map((ranked) => ranked.trial),
  );
  const rivals = data.flatMap((one): Rival[] => {
    if (one === own || one.isBaseline) return [];
    const complete = [...logsOf(one)].find(([, speeds]) =>
      [...profile.keys()].every((c) => speeds.has(c)),
    );
    if (complete === undefined) return [];
    const gains = gainsOf(complete[1], levelAt(baseline, complete[0]));
    return [{ assignment: one.assignment, gains, mayWin: mayWin.has(one.trial) }];
  });
  const level = levelAt(baseline, launch);
  const end = lostRace({
    kind: objective.score,
    profile,
    places: Math.max(1, measure.finalists),
    baseline: new Map([...level].map(([c, log]) => [c, Math.exp(log)])),
    assignment: own.assignment,
    gains: gainsOf(logs, level),
    rivals,
    noiseFraction: noiseOf(baseline),
  });
  if (end === undefined) return undefined;
  const measured = [...logs.keys()].sort((a, b) => a - b).join(', ');
  return `dropped: could not win: after C=${measured} its score would be ${percent(end.optimistic)} at best, the trials to confirm have ${percent(end.bar)} or more`;
}

/** By launch in the order of starting; the mean of repeats. */
function launchLogs(cells: ReadonlyMap<number, Cell>): LaunchLogs {
  const found = new Map<number, Map<number, number>>();
  for (const [concurrency, { logsByLaunch }] of cells) {
    for (const [launch, logs] of logsByLaunch) {
      const own = found.get(launch) ?? new Map<number, number>();
      found.set(launch, own.set(concurrency, mean(logs) ?? Number.NaN));
    }
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/** The baseline's level at a launch: the mean of its launches next before and after it. */
function levelAt(baseline: LaunchLogs, launch: number): ReadonlyMap<number, number> {
  const before = [...baseline].filter(([at]) => at <= launch).at(-1);
  const after = [...baseline].find(([at]) => at > launch);
  const near = [before, after].flatMap((one) => (one === undefined ? [] : [one[1]]));
  const concurrencies = new Set(near.flatMap((speeds) => [...speeds.keys()]));
  return new Map(
    [...concurrencies].map((c) => [
      c,
      mean(near.flatMap((speeds) => speeds.get(c) ?? [])) ?? Number.NaN,
    ]),
  );
}

function gainsOf(logs: ReadonlyMap<number, number>, level: ReadonlyMap<number, number>): Gains {
  return new Map(
    [...logs].flatMap(([c, log]): [number, number][] => {
      const reference = level.get(c);
      return reference === undefined ? [] : [[c, log - reference]];
    }),
  );
}

/** From step to step of the baseline's launches, and no less than is known beforehand. */
function noiseOf(baseline: LaunchLogs): number {
  const levels = [...baseline.values()].map((speeds) => mean([...speeds.values()]) ?? 0);
  const squares = levels.slice(1).map((log, i) => (log - (levels[i] ?? log)) ** 2 / 2);
  return Math.sqrt(Math.max(PRIOR_NOISE.variance, mean(squares) ?? 0));
}

function percent(log: number): string {
  const value = 100 * Math.expm1(log);
  return `${value < 0 ? '' : '+'}${value.toFixed(1)} %`;
}
