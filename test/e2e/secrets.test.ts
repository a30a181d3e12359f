import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../helpers/run-cli.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

const KEYS = ['sk-planted-in-argv-4711', 'hf_planted_in_environment_4712'] as const;

let study: SimulatedStudy;
let printed: string;

beforeAll(async () => {
  study = await simulatedStudy({
    unitFlags: `--api-key ${KEYS[0]}`,
    parameters: { 'speculative-num-steps': [1, 2] },
  });
  const unit = await readFile(study.unit, 'utf8');
  await writeFile(
    study.unit,
    unit.replace('[Service]\n', `[Service]\nEnvironment=HF_TOKEN=${KEYS[1]}\n`),
  );
  const sweep = await study.run('sweep');
  expect(sweep.exitCode, sweep.stderr).not.toBe(2);
  const exports = ['json', 'jsonl', 'csv'].map((format) =>
    study.run('export', '--format', format, '--requests'),
  );
  const others = [study.run('rank'), study.run('status'), study.run('plan', '--json')];
  const results = [sweep, ...(await Promise.all([...exports, ...others]))];
  printed = results.map(({ stdout, stderr }) => stdout + stderr).join('\n');
});

afterAll(() => study[Symbol.asyncDispose]());

/** Files below the folder that hold one of the keys, but for units and drop-ins: they must. */
async function filesWithKeys(): Promise<readonly string[]> {
  const entries = await readdir(study.folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const found: string[] = [];
  for (const path of paths.filter((one) => !/\.(service|conf)$/.test(one))) {
    const bytes = await readFile(path);
    if (KEYS.some((key) => bytes.includes(key))) found.push(path);
  }
  return found;
}

test('a server with an API key is swept', async () => {
  const { measurements } = await study.json<{ measurements: unknown[] }>('export');
  expect(measurements).toHaveLength(4);
});

test('no key stands in the database, a log or any other file but unit and drop-in', async () => {
  expect(await filesWithKeys()).toEqual([]);
});

test.each(KEYS)('%s is never printed or exported', (key) => {
  // Whole lines and not the whole text: a failure shows where.
  expect(printed.split('\n').filter((line) => line.includes(key))).toEqual([]);
});

test('api_key_env that is not set is an error that names the variable', async () => {
  await study.write({
    parameters: { 'speculative-num-steps': [1, 2] },
    target: { api_key_env: 'NIGHT_KEY_NOT_SET' },
  });
  const { exitCode, stderr } = await runCli(['sweep', study.file, '--db', study.database]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('NIGHT_KEY_NOT_SET');
});
