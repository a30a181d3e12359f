import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rows } from '../helpers/database.ts';
import { runCli } from '../helpers/run-cli.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

/** Keys that nothing but the name in front of them gives away, in argv, environment and a URL. */
const KEYS = [
  'planted4711inArgv',
  'planted4712inArgvToo',
  'planted4713inEnvironment',
  'planted4714inUrl',
] as const;

/** The server of the third trial fails, so that a log tail and a cause are stored, too. */
const SPACE = {
  parameters: { 'speculative-num-steps': [1, 2], 'mem-fraction-static': [0.85, 0.3] },
  constraints: [{ when: { 'mem-fraction-static': 0.3 }, require: { 'speculative-num-steps': 1 } }],
};

let study: SimulatedStudy;
let printed: string;

beforeAll(async () => {
  study = await simulatedStudy({
    unitFlags: `--api-key ${KEYS[0]} --admin-api-key ${KEYS[1]}`,
    ...SPACE,
  });
  const unit = await readFile(study.unit, 'utf8');
  await writeFile(
    study.unit,
    unit.replace(
      '[Service]\n',
      `[Service]\nEnvironment=HF_TOKEN=${KEYS[2]}\nEnvironment=MIRROR=http://user:${KEYS[3]}@mirror/\n`,
    ),
  );
  const sweep = await study.run('sweep');
  expect(sweep.exitCode, sweep.stderr).not.toBe(2);
  const exports = ['json', 'jsonl', 'csv'].map((format) =>
    study.run('export', '--format', format, '--requests'),
  );
  const others = [
    study.run('rank', '--json'),
    study.run('status'),
    study.run('plan', '--json'),
    study.run('report', '--out', join(study.folder, 'again.html')),
    study.run('sweep', '--db', join(study.folder, 'no', 'such', 'folder', 'x.sqlite')),
  ];
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

test('a failing server leaves its cause and the end of its log, with the keys it prints taken out', () => {
  const [failed] = rows(study.database, "SELECT log_tail FROM launches WHERE state = 'not-ready'");
  expect(failed?.['log_tail']).toContain("'api_key': '***'");
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
