import { expect, test } from 'vitest';
import { chaoticSweep } from '../../bench/chaos/chaotic-sweep.ts';
import { faultsOf, verdictsOf } from '../../bench/chaos/check-sweep.ts';

/** More, and other seeds, with `npx tsx bench/chaos/run.ts`. */
const SWEEPS = 50;
const AT_A_TIME = 3;

test('50 sweeps with random failures end by themselves, name every cause, and lose, double or rank no measurement wrongly', async () => {
  const seeds = Array.from({ length: SWEEPS }, (_, i) => i + 1);
  const faults: string[] = [];
  const wrong: string[] = [];
  let judged = 0;
  const worker = async () => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const sweep = await chaoticSweep({ seed, failureFraction: 0.6 });
      const verdicts = verdictsOf(sweep);
      judged += verdicts.length;
      faults.push(...faultsOf(sweep));
      wrong.push(
        ...verdicts
          .filter(({ right }) => !right)
          .map(({ injected, found }) => `sweep ${String(sweep.seed)}: ${injected} -> ${found}`),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  expect(judged).toBeGreaterThan(100);
  expect(faults).toEqual([]);
  expect(wrong).toEqual([]);
});
