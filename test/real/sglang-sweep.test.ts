import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  type CliResult,
  freePort,
  newMark,
  nightsweep,
  processesOf,
  sglangCommand,
  sglangEnvironment,
} from './real-machine.ts';

interface RankJson {
  readonly ranking: readonly {
    readonly rank: number;
    readonly is_baseline: boolean;
    readonly assignment: Readonly<Record<string, unknown>>;
    readonly per_concurrency: Readonly<Record<string, { output_tokens_per_second: number }>>;
  }[];
}

/** A sweep of the running limit on a real SGLang; production allows one request at a time. */
describe('a sweep of max-running-requests 1, 4 and 16 on a real SGLang 0.5.23', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightsweep-real-'));
  const db = join(folder, 'sweep.sqlite');
  const studyPath = join(folder, 'study.yaml');
  const mark = newMark();
  let sweep: CliResult;

  beforeAll(async () => {
    const port = await freePort();
    const study = {
      study: 'real-sglang',
      target: {
        command: [...sglangCommand(port), '--max-running-requests', '1'],
        environment: sglangEnvironment(mark),
        base_url: `http://127.0.0.1:${port}`,
      },
      profile: { 1: 0.1, 4: 0.1, 16: 0.8 },
      workload: { prompts: 'code', input_tokens: 64, output_tokens: 32 },
      measure: { finalists: 1, launches: 1 },
      parameters: { 'max-running-requests': [1, 4, 16] },
    };
    writeFileSync(studyPath, stringify(study));
    sweep = await nightsweep('sweep', studyPath, '--db', db);
  }, 1_800_000);

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('completes with a winner', () => {
    expect(sweep.code, `${sweep.stdout}\n${sweep.stderr}`).toBe(0);
  });

  test('ranks 16 above 4 above 1 at profile {16: 1}', async () => {
    const args = ['--study', 'real-sglang', '--profile', '16:1', '--json', '--db', db];
    const { stdout } = await nightsweep('rank', ...args);
    const { ranking } = JSON.parse(stdout) as RankJson;
    const order = ranking.map(({ assignment }) => Number(assignment['max-running-requests']));
    expect(order, stdout).toEqual([16, 4, 1]);
  });

  test('leaves nothing running', () => {
    // A sweep that never launched would leave nothing, too.
    expect(sweep.code).toBe(0);
    expect(processesOf(mark)).toEqual([]);
  });
});
