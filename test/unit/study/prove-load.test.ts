import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { parseStudy } from '../../../src/config/load-study.ts';
import type { GeneratorProof } from '../../../src/load/prove-generator.ts';
import { plannedChunkRate, proveLoad } from '../../../src/study/prove-load.ts';

const study = (more = '') =>
  parseStudy(
    `study: s\ntarget: {command: [server]}\nprofile: {1: 0.5, 16: 0.5}\nparameters: {page-size: [1]}\n${more}`,
    'study.yaml',
  );

const proof = (speedFraction: number): GeneratorProof => ({
  held: speedFraction >= 0.98,
  speedFraction,
  selfCheck: { eventLoopDelayP99Ms: 0, cpuFraction: 0.5, dispatchLagP99Ms: 0, peakInFlight: 16 },
});

/** Proofs in turn, the last one for ever. */
function proving(...fractions: number[]) {
  let count = 0;
  return {
    prove: async () => {
      count += 1;
      return Promise.resolve(proof(fractions[Math.min(count, fractions.length) - 1] ?? 0));
    },
    count: () => count,
  };
}

describe('before a sweep', () => {
  test('the planned chunk rate is half as much again as the best that was recorded', () => {
    const recorded = study('baseline: {expect: {values: {1: 120, 16: 1200}}}');
    expect(plannedChunkRate(recorded)).toEqual({ streams: 16, chunksPerSecond: 112.5 });
    // 100 x 16^0.73 = 757 tokens per second.
    expect(plannedChunkRate(study()).chunksPerSecond).toBeCloseTo((1.5 * 757) / 16, 0);
  });

  test('one proof that holds is enough', async () => {
    const { prove, count } = proving(1);
    expect(await proveLoad(study(), systemClock, prove)).toBeUndefined();
    expect(count()).toBe(1);
  });

  test('a machine that is busy for a moment is asked again', async () => {
    const { prove, count } = proving(0.2, 0.99);
    expect(await proveLoad(study(), systemClock, prove)).toBeUndefined();
    expect(count()).toBe(2);
  });

  test('a machine that is a little too slow is a warning, one far too slow a refusal', async () => {
    expect(await proveLoad(study(), systemClock, proving(0.9).prove)).toContain(
      'reaches 90 % of 16 streams',
    );
    await expect(proveLoad(study(), systemClock, proving(0.3).prove)).rejects.toThrow(
      /reaches 30 % of 16 streams of 71 chunks\/s on this machine/,
    );
  });
});
