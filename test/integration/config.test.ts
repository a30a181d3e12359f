import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadStudy } from '../../src/config/load-study.ts';
import { countSpace } from '../../src/search-space/count.ts';

const SEARCH_SPACES = new URL('../../search-spaces/', import.meta.url).pathname;
const bundled = (await readdir(SEARCH_SPACES)).filter((name) => name.endsWith('.yaml'));

describe.each(bundled)('the bundled study %s', (name) => {
  test('loads without mistakes and without warnings', async () => {
    expect((await loadStudy(join(SEARCH_SPACES, name))).warnings).toEqual([]);
  });

  test('has something to try and leaves something out', async () => {
    const count = countSpace(await loadStudy(join(SEARCH_SPACES, name)));
    expect(count.feasible).toBeGreaterThan(1);
    for (const { count: rejected } of count.rejected) expect(rejected).toBeGreaterThan(0);
  });

  test('gives a reason above or beside every parameter', async () => {
    const text = await readFile(join(SEARCH_SPACES, name), 'utf8');
    const lines = text.slice(text.indexOf('\nparameters:')).split('\n').slice(2);
    const end = lines.findIndex((line) => /^\S/.test(line));
    const commented = lines
      .slice(0, end)
      .filter(
        (line, i) => /^ {2}[a-z]/.test(line) && !/^ {2}(#|speculative)/.test(lines[i - 1] ?? '#'),
      );
    expect(commented).toEqual([]);
  });
});

test('the design of one night with and without speculation plans 120 launches', async () => {
  const study = await loadStudy(
    new URL('../fixtures/studies/reference.yaml', import.meta.url).pathname,
  );
  // NEXTN: 3 steps x (top-k 1 without, top-k 2 with 4 or 6 draft tokens) = 9; none: 1.
  // (9 + 1) x 3 limits x 2 x 2 = 120.
  expect(countSpace(study).feasible).toBe(120);
});

describe('files around a study', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'nightsweep-config-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });
  const study = 'study: s\ntarget: {unit_file: a.service}\nprofile: {1: 1}\nparameters: {a: [1]}\n';

  test('a study file that is not there is named', async () => {
    await expect(loadStudy(join(folder, 'none.yaml'))).rejects.toThrow(
      `study file ${folder}/none.yaml cannot be read`,
    );
  });

  test('a unit file that is not there is named with the line that names it', async () => {
    const path = join(folder, 'missing.yaml');
    await writeFile(path, study);
    await expect(loadStudy(path)).rejects.toThrow(
      `${path}:2:21: target.unit_file: there is no file ${folder}/a.service`,
    );
  });

  test('a file of prompts that is not there is named with the line that names it', async () => {
    const path = join(folder, 'prompts.yaml');
    await writeFile(
      path,
      `${study.replace('unit_file: a.service', 'unit: a')}workload: {prompts: ./p.jsonl}\n`,
    );
    await expect(loadStudy(path)).rejects.toThrow(
      `workload.prompts: there is no file ${folder}/p.jsonl`,
    );
  });

  test('a unit file beside the study is found from any folder', async () => {
    const path = join(folder, 'found.yaml');
    await writeFile(path, study.replace('a.service', 'b.service'));
    await writeFile(join(folder, 'b.service'), '[Service]\n');
    expect((await loadStudy(path)).target.unitFile).toBe(join(folder, 'b.service'));
  });
});
