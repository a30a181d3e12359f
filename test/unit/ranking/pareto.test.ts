import { expect, test } from 'vitest';
import { paretoFront } from '../../../src/ranking/pareto.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { paretoLines } from '../../../src/report/pareto-text.ts';
import { rankingJson } from '../../../src/report/ranking-json.ts';
import { sample, trial } from './samples.ts';

function withLatency(number: number, speed: number, ttft: number, barredBy: string[] = []) {
  const metrics = { p99_ttft_ms: ttft };
  return trial(number, { 4: [sample(1)], 16: [sample(speed, { metrics, barredBy })] });
}

const trials = [
  withLatency(0, 100, 900),
  withLatency(1, 130, 1000),
  withLatency(2, 110, 500),
  withLatency(3, 105, 600),
  withLatency(4, 500, 1, ['client-limited']),
];

function ranked() {
  const profile = new Map([
    [4, 0.5],
    [16, 0.5],
  ]);
  return rankTrials({ trials, profile, scoreKind: 'time' });
}

test('the Pareto set holds the eligible trials that no other beats in score and latency', () => {
  const [ttft, ...others] = ranked().paretoSets;
  expect(others).toEqual([]);
  expect(ttft?.concurrency).toBe(16);
  expect(ttft?.front.map(({ trial: number, latencyMs }) => [number, latencyMs])).toEqual([
    [1, 1000],
    [2, 500],
  ]);
});

test('the ranking as JSON holds the Pareto sets with units in their names', () => {
  const [ttft] = rankingJson('x', ranked()).pareto;
  expect(ttft?.latency).toBe('p99_ttft_ms');
  expect(ttft?.concurrency).toBe(16);
  expect(ttft?.front.map(({ trial: number, latency_ms }) => [number, latency_ms])).toEqual([
    [1, 1000],
    [2, 500],
  ]);
  expect(ttft?.front[0]?.score).toBeCloseTo(65.5, 9);
});

test('the text says what a shorter wait would cost', () => {
  const [line] = paretoLines(ranked());
  expect(line).toContain('score against p99_ttft_ms at C=16');
  expect(line).toMatch(/trial 1 .* at 1000\.0 ms, trial 2 .* at 500\.0 ms$/);
});

test('equal points are all on the front, and one that equals in one figure and loses in the other is not', () => {
  const points = [
    { score: 2, latencyMs: 5 },
    { score: 2, latencyMs: 5 },
    { score: 2, latencyMs: 6 },
    { score: 1, latencyMs: 5 },
  ];
  expect(paretoFront(points)).toEqual(points.slice(0, 2));
});

test('the front is found whatever the order of the points, best score first', () => {
  const points = [
    { latencyMs: 100, score: 1 },
    { latencyMs: 200, score: 1.2 },
    { latencyMs: 250, score: 1.2 },
    { latencyMs: 90, score: 0.9 },
    { latencyMs: 300, score: 1.1 },
  ];
  expect(paretoFront(points)).toEqual([points[1], points[0], points[3]]);
});
