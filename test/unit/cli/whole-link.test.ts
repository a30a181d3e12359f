import { expect, test } from 'vitest';
import { onWholeLink } from '../../../src/cli/whole-link.ts';
import type { PointRequest, PointResult } from '../../../src/study/services.ts';

const request = { concurrency: 8, signal: new AbortController().signal } as PointRequest;
const cut = Object.assign(new Error('reset'), { code: 'ECONNRESET' });

/** A link, and a measurer whose attempts end as listed; `true` says that the link broke in it. */
function machine(...attempts: readonly (readonly [boolean, PointResult | Error])[]) {
  let [losses, taken] = [0, 0];
  const told: string[] = [];
  const measurer = {
    measure: async (): Promise<PointResult> => {
      const [broke, end] = attempts[Math.min(taken, attempts.length - 1)] ?? [false, cut];
      taken += 1;
      if (broke) losses += 1;
      return end instanceof Error ? Promise.reject(end) : Promise.resolve(end);
    },
  };
  const run = async () =>
    Promise.resolve({
      exitCode: 0,
      signal: null,
      timedOut: false,
      stdout: '',
      stderr: '',
      truncated: false,
    });
  const whole = onWholeLink(measurer, { linkLosses: () => losses, run }, (line) => told.push(line));
  return { measure: async () => whole.measure(request), taken: () => taken, told };
}

const point = (why: PointResult['why']) => ({ usable: why === 'completed', why }) as PointResult;
const good = point('completed');

test('a measurement on a whole link is taken once, whatever it says', async () => {
  const failures = point('failures');
  const box = machine([false, failures]);
  expect(await box.measure()).toBe(failures);
  expect(box.taken()).toBe(1);
});

test('a measurement during which the link broke is dropped and taken again', async () => {
  const box = machine([true, point('failures')], [true, cut], [false, good]);
  expect(await box.measure()).toBe(good);
  expect(box.told).toHaveLength(2);
});

test('a server that does not answer on a whole link is no fault of the link', async () => {
  const box = machine([false, cut]);
  await expect(box.measure()).rejects.toBe(cut);
  expect(box.taken()).toBe(1);
});

test('a link that breaks each time is not tried for ever', async () => {
  const box = machine([true, cut]);
  await expect(box.measure()).rejects.toBe(cut);
  expect(box.taken()).toBe(3);
});
