import { confirmationOf } from '../../src/ranking/confirmation.ts';
import { confirmingOrder, nextConfirmingStep } from '../../src/ranking/confirming-plan.ts';
import { type Decision, decide } from '../../src/ranking/decide.ts';
import { eraOf, jumpsOf, PRIOR_NOISE } from '../../src/ranking/drift.ts';
import type { LaunchScore } from '../../src/ranking/launch-scores.ts';
import { FIRST_CONFIRMING_ROUND } from '../../src/ranking/phases.ts';
import { promisingTrials } from '../../src/ranking/promising.ts';
import { rankTrials } from '../../src/ranking/rank-trials.ts';
import type { Ranking } from '../../src/ranking/ranking.ts';
import type { CellSample, TrialData } from '../../src/ranking/trial-data.ts';
import { forecastOf } from '../../src/samplers/forecast.ts';
import type { Assignment } from '../../src/search-space/assignment.ts';

/** What a simulated study is made of: the truth, and how it is seen. */
export interface SimulatedStudy {
  /** True log gain over the baseline of each candidate. */
  readonly logGains: readonly number[];
  /** Standard deviation of the log score from launch to launch. */
  readonly noise: number;
  readonly finalists: number;
  /** Confirming rounds at most. */
  readonly rounds: number;
  /** Search launches between two launches of the baseline. */
  readonly baselineEvery: number;
  /** Log change of the whole machine at a launch (0, 1, ...); default none. */
  readonly drift?: (launch: number) => number;
}

export interface SimulatedOutcome {
  readonly ranking: Ranking;
  readonly decision: Decision;
  readonly launches: number;
  readonly confirmingRounds: number;
}

/** Seeded generator of standard normal values (mulberry32 and Box-Muller). */
export function normalSource(seed: number): () => number {
  const uniform = uniformSource(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Seeded uniform values in [0, 1): mulberry32 by Tommy Ettinger. */
export function uniformSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const CONCURRENCY = 16;
const BASELINE_TOKENS_PER_SECOND = 1000;

/**
 * Runs a study in no time: every candidate once with the baseline along the way, then rounds of
 * finalists and baseline as a sweep does, through the real ranking, decision and stopping rules.
 */
export function simulateStudy(study: SimulatedStudy, seed: number): SimulatedOutcome {
  const normal = normalSource(seed);
  const samples = new Map<number, CellSample[]>();
  let launch = 0;
  const measure = (trial: number, round: number): void => {
    const gain = trial === 0 ? 0 : (study.logGains[trial - 1] ?? 0);
    const log = gain + study.noise * normal() + (study.drift?.(launch) ?? 0);
    const own = samples.get(trial) ?? [];
    samples.set(trial, [...own, sampleOf(launch, round, log)]);
    launch += 1;
  };

  measure(0, 0);
  let baselineRound = 1;
  let sinceBaseline: number[] = [];
  const queue = study.logGains.map((_gain, index) => index + 1);
  const measured = new Set<number>();
  for (let trial = queue.shift(); trial !== undefined; trial = queue.shift()) {
    measure(trial, measured.has(trial) ? 1 : 0);
    sinceBaseline.push(trial);
    if (sinceBaseline.length < study.baselineEvery && queue.length > 0) continue;
    measure(0, baselineRound);
    baselineRound += 1;
    const jumped = jumpsOf(launchesOf(samples.get(0) ?? []), PRIOR_NOISE).at(-1);
    if (jumped?.after.launch === launch - 1) {
      queue.unshift(...sinceBaseline.filter((one) => !measured.has(one)));
    }
    for (const one of sinceBaseline) measured.add(one);
    sinceBaseline = [];
  }
  const jumps = jumpsOf(launchesOf(samples.get(0) ?? []), PRIOR_NOISE);
  const forecast = forecastOf(
    new Map([['variant', [null, ...study.logGains.map((_gain, index) => `v${index + 1}`)]]]),
    [...samples].map(([trial, own]) => ({
      assignment: assignmentOf(trial),
      state: 'completed' as const,
      launches: launchesOf(own).flatMap(({ launch: at, logScore }) => {
        const era = eraOf(at, jumps);
        return era === undefined ? [] : { at, era, logScore };
      }),
    })),
  );
  const level = forecast.predict(assignmentOf(0)).mean;
  const finalists = promisingTrials(rank(samples), study.finalists, ({ assignment }) =>
    Math.exp(forecast.predict(assignment).mean - level),
  );

  let round = 0;
  for (;;) {
    const step = nextConfirmingStep(confirmation(samples), finalists, study.rounds);
    if (step.state === 'done') break;
    for (let mirrored = 0; mirrored < 2; mirrored += 1) {
      for (const trial of confirmingOrder(step.finalists, 0, round, study.rounds)) {
        measure(trial, FIRST_CONFIRMING_ROUND + round);
      }
      round += 1;
    }
  }
  const ranking = rank(samples);
  return { ranking, decision: decide(ranking), launches: launch, confirmingRounds: round };
}

function assignmentOf(trial: number): Assignment {
  return { variant: trial === 0 ? null : `v${trial}` };
}

function sampleOf(launchId: number, round: number, log: number): CellSample {
  return {
    launchId,
    round,
    outputTokensPerSecond: BASELINE_TOKENS_PER_SECOND * Math.exp(log),
    throughputKind: 'steady',
    tokensFrom: 'server',
    metrics: {},
    barredBy: [],
    shortFraction: 0,
  };
}

function rank(samples: ReadonlyMap<number, readonly CellSample[]>): Ranking {
  const trials = [...samples].map(([trial, own]): TrialData => {
    return {
      trial,
      assignment: assignmentOf(trial),
      isBaseline: trial === 0,
      state: 'completed',
      cells: new Map([[CONCURRENCY, own]]),
    };
  });
  return rankTrials({ trials, profile: new Map([[CONCURRENCY, 1]]), scoreKind: 'relative' });
}

function confirmation(samples: ReadonlyMap<number, readonly CellSample[]>) {
  return confirmationOf(
    [...samples]
      .filter(([trial, own]) => trial === 0 || own.length > 1)
      .map(([trial, own]) => ({
        trial,
        isBaseline: trial === 0,
        launches: launchesOf(own),
      })),
    0.95,
  );
}

function launchesOf(samples: readonly CellSample[]): readonly LaunchScore[] {
  return samples.map(({ launchId, round = 0, outputTokensPerSecond }) => {
    return { launch: launchId, round, logScore: Math.log(outputTokensPerSecond) };
  });
}
