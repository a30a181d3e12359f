import { readdir } from 'node:fs/promises';
import { execa } from 'execa';
import { afterEach, describe, expect, test } from 'vitest';
import { MAIN } from '../helpers/run-cli.ts';
import {
  type SimulatedStudy,
  type StudyParts,
  simulatedStudy,
} from '../helpers/simulated-study.ts';

interface PlanJson {
  readonly study: string;
  readonly launches: number;
  readonly hours: number;
  readonly combinations: number;
  readonly feasible: number;
  readonly unlisted: number;
  readonly trials: readonly { readonly is_baseline: boolean }[];
  readonly skipped: readonly {
    readonly rule: string;
    readonly by: 'constraint' | 'sglang';
    readonly count: number;
  }[];
  readonly equivalent: readonly { readonly same_as: number }[];
}

const SPACE = {
  'speculative-num-steps': [1, 2, 3, 4, 5],
  'speculative-num-draft-tokens': [null, 4, 6, 8],
  'max-running-requests': [16, 32, 48],
  'speculative-eagle-topk': [1, 2],
};
const CONSTRAINTS = [
  { when: { 'speculative-eagle-topk': 1 }, require: { 'speculative-num-draft-tokens': null } },
  { when: { 'speculative-eagle-topk': 2 }, forbid: { 'speculative-num-draft-tokens': null } },
  { when: { 'speculative-num-steps': '>= 4' }, forbid: { 'max-running-requests': 48 } },
];

let study: SimulatedStudy | undefined;

afterEach(async () => {
  await study?.[Symbol.asyncDispose]();
  study = undefined;
});

async function plan(parts: StudyParts): Promise<PlanJson> {
  study = await simulatedStudy(parts);
  return study.json<PlanJson>('plan', '--json');
}

/** Children of a study of 10^6 combinations. */
const wide = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('plan', () => {
  test('of 5 x 4 x 3 x 2 with three constraints: the counts add up (D12)', async () => {
    const json = await plan({ parameters: SPACE, constraints: CONSTRAINTS });
    const skipped = (by: string) =>
      json.skipped.filter((group) => group.by === by).reduce((sum, { count }) => sum + count, 0);
    expect(json.combinations).toBe(120);
    // Top-k 1 leaves 5 x 1 x 3, top-k 2 leaves 5 x 3 x 3; of both, 2 of 5 steps lose 1 of 3 limits.
    expect(json.feasible).toBe(60 - 2 * 4);
    expect(skipped('constraint')).toBe(120 - json.feasible);
    const candidates = json.trials.filter((trial) => !trial.is_baseline).length;
    // Production has no running limit of its own: it is none of the combinations.
    expect(candidates + json.equivalent.length + skipped('sglang')).toBe(json.feasible);
    // The baseline again after every 6 trials; this study confirms nothing.
    expect(json.launches).toBe(json.trials.length + Math.floor(candidates / 6));
    expect(json.hours).toBeGreaterThan(0);
    for (const { same_as } of json.equivalent) expect(json.trials[same_as]).toBeDefined();
  });

  test('touches nothing: no database, no folder', async () => {
    await plan({ parameters: SPACE, constraints: CONSTRAINTS });
    expect(await readdir(study?.folder ?? '')).toEqual(['sglang.service', 'study.yaml']);
  });

  test('says in words what is launched, and which rule skips how many', async () => {
    study = await simulatedStudy({ parameters: SPACE, constraints: CONSTRAINTS });
    const { stdout, exitCode } = await study.run('plan');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('120 combinations, 52 keep the constraints');
    expect(stdout).toMatch(/\d+ launches, about \d/);
    expect(stdout).toMatch(/^skipped:\n +\d+ {2}\S/m);
  });

  test('a constraint on an unknown flag is an error that names its line', async () => {
    study = await simulatedStudy({
      parameters: SPACE,
      constraints: [
        { when: { 'speculative-num-stepz': 1 }, forbid: { 'max-running-requests': 48 } },
      ],
    });
    const { exitCode, stderr } = await study.run('plan');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/study\.yaml:\d+:\d+: .*speculative-num-stepz/);
    expect(stderr).toContain('speculative-num-steps');
  });

  test('of 10^6 combinations keeps below 400 MB', async () => {
    study = await simulatedStudy({
      parameters: {
        'max-running-requests': wide(100),
        'cuda-graph-max-bs': wide(100),
        'chunked-prefill-size': wide(100).map((size) => size * 64),
      },
    });
    const measuring = `process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS))`;
    const { stdout, stderr } = await execa(process.execPath, [
      '--import',
      `data:text/javascript,${encodeURIComponent(measuring)}`,
      MAIN,
      'plan',
      study.file,
      '--json',
      '--db',
      study.database,
    ]);
    expect((JSON.parse(stdout) as PlanJson).combinations).toBe(1_000_000);
    const peakKilobytes = Number(/peak (\d+)/.exec(stderr)?.[1]);
    expect(peakKilobytes).toBeGreaterThan(0);
    expect(peakKilobytes).toBeLessThan(400 * 1000);
  });
});

test('of top-k without steps is refused before any launch, saying that steps are needed (B5)', async () => {
  study = await simulatedStudy({
    parameters: { 'speculative-num-steps': [null], 'speculative-eagle-topk': [1, 4] },
  });
  const { exitCode, stderr } = await study.run('sweep');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('no combination would start: --speculative-eagle-topk and');
  expect(stderr).toContain('need --speculative-num-steps');
  expect(await readdir(study.folder)).not.toContain('night.sqlite');
});
