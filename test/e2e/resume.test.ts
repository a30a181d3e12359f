import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { measurementKeys, rows } from '../helpers/database.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

const PARTS = { parameters: { 'speculative-num-steps': [1, 2] }, workload: { output_tokens: 10 } };
const FIRST_KEYS = ['0/0/1/0', '0/0/4/0', '1/0/1/0', '1/0/4/0'];

let study: SimulatedStudy;

beforeEach(async () => {
  study = await simulatedStudy(PARTS);
  expect((await study.run('sweep')).exitCode).not.toBe(2);
  expect(measurementKeys(study.database)).toEqual(FIRST_KEYS);
});

afterEach(() => study[Symbol.asyncDispose]());

const measured = () => rows(study.database, 'SELECT * FROM measurements ORDER BY id');

describe('the same command after a finished sweep', () => {
  test('launches nothing and ranks again', async () => {
    const before = measured();
    const { stdout } = await study.run('sweep');
    expect(stdout).toContain('4 measurements kept');
    expect(stdout).not.toContain('launch 1');
    expect(stdout).toContain('rank');
    expect(measured()).toEqual(before);
  });

  test('with one more value measures that one and keeps the rest (D9)', async () => {
    const before = measured();
    await study.write({ ...PARTS, parameters: { 'speculative-num-steps': [1, 2, 3] } });
    const { stdout } = await study.run('sweep');
    expect(stdout).toContain('speculative-num-steps 3');
    expect(measurementKeys(study.database)).toEqual([...FIRST_KEYS, '2/0/1/0', '2/0/4/0']);
    expect(measured().slice(0, before.length)).toEqual(before);
  });

  test('with another output length is refused, naming what changed (D9)', async () => {
    const before = measured();
    await study.write({ ...PARTS, workload: { output_tokens: 11 } });
    const { exitCode, stderr } = await study.run('sweep');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^error: study night was measured under other conditions: .*output_tokens/,
    );
    expect(stderr).toContain('10 -> ');
    expect(stderr).toContain('hint: give the study another name');
    expect(measured()).toEqual(before);
  });
});
