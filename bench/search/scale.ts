/**
 * Time of the next proposal in 10^5 legal assignments, memory over proposals, and time to rank
 * 10^6 measurements.
 *
 *   node --expose-gc --import tsx bench/search/scale.ts
 */
import { rankTrials } from '../../src/ranking/rank-trials.ts';
import type { CellSample, TrialData } from '../../src/ranking/trial-data.ts';
import { samplers } from '../../src/samplers/registry.ts';
import type { FinishedTrial } from '../../src/samplers/sampler.ts';
import { normalSource } from './simulated-study.ts';

const normal = normalSource(1);
const collect = (globalThis as { gc?: () => void }).gc ?? (() => undefined);
const megabytes = () => {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const values = Array.from({ length: 10 }, (_, i) => i);
const space = {
  parameters: new Map(['p', 'q', 'r', 's', 't'].map((name) => [name, values])),
  constraints: [],
};
const finished: FinishedTrial[] = [];
const times: number[] = [];
const heaps: number[] = [];
for (let at = 0; at < 100; at += 1) {
  const started = process.cpuUsage();
  const next = samplers.budgeted.next(space, finished);
  times.push(process.cpuUsage(started).user / 1000);
  if (next === undefined) break;
  const logScore = 0.01 * Number(next['p']) - 0.005 * Number(next['q']) + 0.015 * normal();
  finished.push({ assignment: next, state: 'completed', launches: [{ at, logScore }] });
  if (at % 25 === 0 || at === 99) heaps.push(megabytes());
}
console.log(
  `10^5 legal assignments: next proposal at most ${Math.max(...times).toFixed(0)} ms of processor time, last ${times.at(-1)?.toFixed(0) ?? '-'} ms; heap ${heaps.map((heap) => heap.toFixed(0)).join(', ')} MB`,
);

for (const trials of [500, 5000]) {
  const perCell = 1_000_000 / trials / 5;
  const data = Array.from({ length: trials }, (_, trial): TrialData => {
    const cells = [1, 4, 16, 32, 64].map((concurrency) => {
      const samples = Array.from({ length: perCell }, (_sample, k): CellSample => {
        return {
          launchId: trial * perCell + k,
          outputTokensPerSecond: 100 * concurrency * Math.exp(0.015 * normal()),
          throughputKind: 'steady',
          tokensFrom: 'server',
          metrics: {},
          barredBy: [],
          shortFraction: 0,
        };
      });
      return [concurrency, samples] as const;
    });
    return {
      trial,
      assignment: { variant: trial },
      isBaseline: trial === 0,
      state: 'completed',
      cells: new Map(cells),
    };
  });
  const started = process.cpuUsage();
  const wall = performance.now();
  rankTrials({
    trials: data,
    profile: new Map([1, 4, 16, 32, 64].map((concurrency) => [concurrency, 0.2])),
    scoreKind: 'relative',
  });
  const { user } = process.cpuUsage(started);
  console.log(
    `10^6 measurements of ${trials} trials: ranked in ${(user / 1e6).toFixed(2)} s of processor time, ${((performance.now() - wall) / 1000).toFixed(2)} s by the clock`,
  );
}
