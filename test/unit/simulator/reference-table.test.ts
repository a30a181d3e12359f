import { describe, expect, test } from 'vitest';
import {
  type ClosedLoopResult,
  expectedTokensPerSecond,
  referencePrompt,
  simulateClosedLoop,
} from '../../../src/simulator/closed-loop.ts';
import { prepareLaunch } from '../../../src/simulator/launch.ts';
import type { PerformanceSettings } from '../../../src/simulator/performance-model.ts';

const plain =
  '--model-path /m --tp 4 --mem-fraction-static 0.85 --mamba-scheduler-strategy extra_buffer';
const mtp = `${plain} --speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-eagle-topk 1`;
const environment = { NCCL_ALGO: 'Ring', NCCL_PROTO: 'LL' };
const prompt = referencePrompt();

function settingsOf(argv: string): PerformanceSettings {
  const prepared = prepareLaunch(argv.split(' '), environment, 1);
  if (prepared.state === 'exit' || prepared.launch.memory.state === 'fails') throw new Error(argv);
  return prepared.launch.memory.settings;
}

function closedLoop(argv: string, concurrency: number, seed: number): ClosedLoopResult {
  const loop = {
    concurrency,
    requests: Math.max(4, 2 * concurrency),
    outputTokens: 1000,
    ignoreEos: false,
    prompt: () => prompt,
    sendMs: 88,
  };
  return simulateClosedLoop(loop, {
    settings: settingsOf(argv),
    seed,
    launchFactor: 1,
    stepNoiseFraction: 0.01,
    slowdownAt: () => 1,
    radixCache: true,
  });
}

function within(value: number, want: number, fraction: number): void {
  expect(value / want).toBeGreaterThan(1 - fraction);
  expect(value / want).toBeLessThan(1 + fraction);
}

/** seed-case/measurements.yaml: aggregate and per-request tokens per second, tokens. */
const MTP = [
  { concurrency: 1, aggregate: 121.6, perRequest: 123.3, tokens: 4000 },
  { concurrency: 4, aggregate: 399.1, perRequest: 118.8, tokens: 7157 },
  { concurrency: 16, aggregate: 1213.5, perRequest: 84.6, tokens: 29_417 },
  { concurrency: 32, aggregate: 1515.1, perRequest: 62.8, tokens: 51_805 },
  { concurrency: 64, aggregate: 1582.5, perRequest: 66.1, tokens: 97_000 },
];
const PLAIN = { 1: 108, 4: 286, 16: 873, 32: 1359, 64: 2327, 128: 2800 };

describe.each([11, 12, 13])('the measured tables come out within 3 %, seed %i', (seed) => {
  test.each(MTP)(
    'with MTP at $concurrency in flight',
    ({ concurrency, aggregate, perRequest, tokens }) => {
      const result = closedLoop(mtp, concurrency, seed);
      within(result.tokensPerSecond, aggregate, 0.03);
      within(result.perRequestTokensPerSecond, perRequest, 0.03);
      within(result.outputTokens, tokens, 0.05);
    },
  );

  test('with MTP at 128 in flight', () => {
    within(closedLoop(mtp, 128, seed).tokensPerSecond, 1635, 0.03);
  });

  test.each(Object.entries(PLAIN))('without MTP at %s in flight', (concurrency, aggregate) => {
    within(closedLoop(plain, Number(concurrency), seed).tokensPerSecond, aggregate, 0.03);
  });
});

test('from 32 in flight on about 24 decode at a time', () => {
  for (const concurrency of [32, 64]) {
    const { tokensPerSecond, perRequestTokensPerSecond } = closedLoop(mtp, concurrency, 7);
    within(tokensPerSecond / perRequestTokensPerSecond, 24, 0.04);
  }
});

describe('effects of flags on expected throughput', () => {
  const at = (argv: string, concurrency: number, kind: 'code' | 'random' = 'code'): number =>
    expectedTokensPerSecond(settingsOf(argv), concurrency, kind, {
      inputTokens: 1000,
      outputTokens: 1000,
      cachedFraction: 0,
    });

  test('the fused MoE flag gains a little', () => {
    const gain = at(`${mtp} --enable-fused-moe-sum-all-reduce`, 4) / at(mtp, 4) - 1;
    expect(gain).toBeGreaterThan(0.005);
    expect(gain).toBeLessThan(0.03);
  });

  test('MTP wins at few requests and loses at many', () => {
    expect(at(mtp, 1)).toBeGreaterThan(at(plain, 1));
    expect(at(mtp, 64)).toBeLessThan(at(plain, 64));
  });

  test('MTP loses on random ids, where drafts are rarely right', () => {
    expect(at(mtp, 4, 'random')).toBeLessThan(at(plain, 4, 'random'));
  });

  test('a batch above the largest captured graph is slower', () => {
    expect(at(`${plain} --cuda-graph-max-bs 8`, 16)).toBeLessThan(at(plain, 16));
  });

  test('many draft steps pay less in a full batch than at one request', () => {
    const deep = mtp.replace('num-steps 1', 'num-steps 3');
    expect(at(deep, 16) / at(mtp, 16)).toBeLessThan(at(deep, 1) / at(mtp, 1));
  });

  test('a lower running limit bounds throughput', () => {
    expect(at(`${mtp} --max-running-requests 4`, 16)).toBeLessThan(at(mtp, 16) / 2);
  });
});
