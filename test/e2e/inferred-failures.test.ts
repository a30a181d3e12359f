import { afterEach, expect, test } from 'vitest';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';
import { exported } from '../helpers/study-export.ts';

let study: SimulatedStudy | undefined;

afterEach(async () => {
  await study?.[Symbol.asyncDispose]();
  study = undefined;
});

test('a memory fraction that is too high rules out all above it without a launch (A14)', async () => {
  study = await simulatedStudy({
    parameters: { 'mem-fraction-static': [0.985, 0.986, 0.987, 0.988, 0.989, 0.99] },
  });
  await study.run('sweep');
  const { trials } = await exported(study);
  const tried = trials.filter(({ state }) => state === 'infeasible');
  const skipped = trials.filter(({ state }) => state === 'skipped');
  expect(tried).toHaveLength(1);
  expect(skipped).toHaveLength(5);
  for (const { reason } of skipped) {
    expect(reason).toMatch(/^inferred: mem-fraction-static 0\.985 was too high in trial 1$/);
  }
});
