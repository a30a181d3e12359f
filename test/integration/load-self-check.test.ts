import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { proveGenerator } from '../../src/load/prove-generator.ts';

test('the generator holds a modest chunk rate and says what it cost', async () => {
  const proof = await proveGenerator({ streams: 4, chunksPerSecond: 20, seconds: 1 }, systemClock);
  expect(proof.selfCheck.peakInFlight).toBe(4);
  expect(proof.speedFraction).toBeGreaterThan(0.8);
});

test('a chunk rate that no core can take is not held (C15)', async () => {
  const rate = { streams: 256, chunksPerSecond: 20_000, seconds: 0.05 };
  expect((await proveGenerator(rate, systemClock)).held).toBe(false);
});
