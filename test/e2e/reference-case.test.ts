import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../helpers/run-cli.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

interface RankingJson {
  readonly study: string;
  readonly score_kind: string;
  readonly profile: Readonly<Record<string, number>>;
  readonly kinds_disagree: boolean;
  readonly ranking: readonly {
    readonly rank: number;
    readonly trial: number;
    readonly assignment: Readonly<Record<string, unknown>>;
    readonly is_baseline: boolean;
    readonly eligible: boolean;
    readonly score: number;
    readonly score_ci: readonly number[] | null;
    readonly tied_with: readonly number[];
    readonly score_by_kind: Readonly<Record<'relative' | 'time' | 'tokens', number>>;
    readonly per_concurrency: Readonly<
      Record<string, { output_tokens_per_second: number; change_fraction: number; n: number }>
    >;
  }[];
  readonly crossovers: readonly {
    readonly score_kind: string;
    readonly concurrency: number;
    readonly weight: number;
    readonly winner_below: number;
    readonly winner_above: number;
  }[];
}

const FEW = '1:0.5,4:0.3,16:0.2';
const FLAT = '1:.2,4:.2,16:.2,32:.2,64:.1,128:.1';
const NO_MTP = 0;
const MTP = 1;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: string;

function table(name: string): string {
  return fileURLToPath(new URL(`../fixtures/tables/${name}`, import.meta.url));
}

async function importTable(name: string, study: string, assignment: string, ...more: string[]) {
  const flags = ['--study', study, '--assignment', assignment, '--db', database, ...more];
  const { exitCode, stderr } = await runCli(['import', table(name), ...flags]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
}

async function rankText(...options: string[]): Promise<string> {
  const { stdout, exitCode } = await runCli(['rank', '--db', database, ...options]);
  expect(exitCode).toBe(0);
  return stdout;
}

async function rank(profile: string, ...options: string[]): Promise<RankingJson> {
  const text = await rankText('--study', 'q', '--profile', profile, '--json', ...options);
  return JSON.parse(text) as RankingJson;
}

function scoreOf({ ranking }: RankingJson, trial: number): number | undefined {
  return ranking.find((row) => row.trial === trial)?.score;
}

beforeAll(async () => {
  folder = await temporaryFolder();
  database = `${folder.path}/tables.sqlite`;
  const mtp = 'speculative-algorithm=NEXTN,speculative-num-steps=1';
  await importTable('no-mtp.txt', 'q', 'speculative-algorithm=~', '--baseline');
  await importTable('mtp.txt', 'q', mtp);
  await importTable('mtp-fresh-baseline.txt', 'fresh', mtp, '--baseline');
});

afterAll(() => folder[Symbol.asyncDispose]());

describe('the two measured tables, imported', () => {
  test('few in flight: MTP wins with 1.252 of the throughput without it', async () => {
    const json = await rank(FEW);
    expect(json.ranking[0]?.trial).toBe(MTP);
    expect(scoreOf(json, MTP)?.toFixed(3)).toBe('1.252');
  });

  test('many in flight: no MTP wins, MTP has 0.628 of its throughput', async () => {
    const json = await rank('64:0.5,128:0.5');
    expect(json.ranking[0]?.trial).toBe(NO_MTP);
    expect(scoreOf(json, MTP)?.toFixed(3)).toBe('0.628');
  });

  test.each([
    ['relative', MTP, '1.0865', '1.0000'],
    ['tokens', MTP, '389.3', '332.7'],
    ['time', NO_MTP, '967.2', '1037.9'],
  ])('a flat profile by %s: trial %i wins, MTP %s against %s', async (kind, winner, mtp, plain) => {
    const json = await rank(FLAT, '--score', kind);
    const digits = mtp.length - mtp.indexOf('.') - 1;
    expect(json.score_kind).toBe(kind);
    expect(json.ranking[0]?.trial).toBe(winner);
    expect(scoreOf(json, MTP)?.toFixed(digits)).toBe(mtp);
    expect(scoreOf(json, NO_MTP)?.toFixed(digits)).toBe(plain);
  });

  test('a flat profile: text and JSON say that the kinds of score disagree', async () => {
    const json = await rank(FLAT);
    const text = await rankText('--study', 'q', '--profile', FLAT);
    expect(json.kinds_disagree).toBe(true);
    expect(text).toContain('the kinds of score disagree on the winner:');
    expect(text).toContain('relative prefers trial 1 (trial 1 +8.65 %, trial 0 0.00 %)');
    expect(text).toContain('time prefers trial 0 (trial 1 967.2 tok/s, trial 0 1037.9 tok/s)');
    expect(text).toContain('tokens prefers trial 1 (trial 1 389.3 tok/s, trial 0 332.7 tok/s)');
  });

  test('where the kinds agree, neither says that they do not', async () => {
    const json = await rank(FEW);
    const text = await rankText('--study', 'q', '--profile', FEW);
    expect(json.kinds_disagree).toBe(false);
    expect(text).not.toContain('disagree');
  });

  test.each([
    ['relative', '0.364'],
    ['time', '0.125'],
  ])('weight moved to 64 changes the %s winner at %s', async (kind, weight) => {
    const { crossovers } = await rank(FEW);
    const found = crossovers.find((c) => c.score_kind === kind && c.concurrency === 64);
    expect(found).toMatchObject({ winner_below: MTP, winner_above: NO_MTP });
    expect(found?.weight.toFixed(3)).toBe(weight);
    const text = await rankText('--study', 'q', '--profile', FEW);
    expect(text).toMatch(
      new RegExp(`^${kind}: .*moved to C=64.* from trial 1 to trial 0 at ${weight}$`, 'm'),
    );
  });

  test('the shape that scripts rely on holds', async () => {
    const json = await rank(FLAT);
    expect(json).toMatchObject({ study: 'q', profile: { 1: 0.2, 128: 0.1 } });
    expect(json.ranking[0]).toMatchObject({
      rank: 1,
      trial: MTP,
      assignment: { 'speculative-algorithm': 'NEXTN', 'speculative-num-steps': 1 },
      is_baseline: false,
      eligible: true,
      score_ci: null,
      tied_with: [],
    });
    expect(json.ranking[0]?.per_concurrency['16']).toEqual({
      output_tokens_per_second: 1209,
      change_fraction: 1209 / 873 - 1,
      n: 1,
    });
  });

  test('the same table imported again adds nothing', async () => {
    const before = await rank(FLAT);
    await importTable('no-mtp.txt', 'q', 'speculative-algorithm=~', '--baseline');
    expect(await rank(FLAT)).toEqual(before);
  });
});

describe('the reference table with all its columns, imported', () => {
  const show = () => rankText('--study', 'fresh', '--profile', '1:.2,4:.2,16:.2,32:.2,64:.2');

  test('the achieved decoding concurrency is shown', async () => {
    expect(await show()).toContain(
      'requests decoding at a time: C=1: 1.0, C=4: 3.4, C=16: 14.3, C=32: 24.1, C=64: 23.9',
    );
  });

  test('32 and 64 are marked as bound by the server at about 24', async () => {
    expect(await show()).toMatch(/C=32 and 64: bound by the server at about 24/);
  });
});
