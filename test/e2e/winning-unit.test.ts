import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

/** Production decodes one at a time: the trials with 16 win far beyond the noise of the clock. */
const UNIT_FLAGS = '--max-running-requests 1';

let study: SimulatedStudy;
let stdout: string;
let exitCode: number | null;
let seconds: number;

beforeAll(async () => {
  study = await simulatedStudy({
    unitFlags: UNIT_FLAGS,
    speed: 25,
    profile: { 4: 0.2, 16: 0.8 },
    parameters: {
      'speculative-num-steps': [1, 2],
      'speculative-eagle-topk': [1, 2],
      'speculative-num-draft-tokens': [null, 4],
      'max-running-requests': [1, 16],
      'enable-fused-moe-sum-all-reduce': [false, true],
    },
    constraints: [
      {
        when: { 'speculative-eagle-topk': 1 },
        require: { 'speculative-num-draft-tokens': null, 'speculative-num-steps': 1 },
      },
      {
        when: { 'speculative-eagle-topk': 2 },
        forbid: { 'speculative-num-draft-tokens': null },
        require: { 'speculative-num-steps': 2, 'enable-fused-moe-sum-all-reduce': false },
      },
    ],
    workload: { requests: 48, output_tokens: 50 },
    measure: { finalists: 1, launches: 3 },
  });
  const startMs = performance.now();
  ({ stdout, exitCode } = await study.run('sweep'));
  seconds = (performance.now() - startMs) / 1000;
});

afterAll(() => study[Symbol.asyncDispose]());

const at = (name: string) => join(study.folder, study.name, name);

interface Winner {
  readonly assignment: Readonly<Record<string, unknown>>;
}

async function winner(): Promise<Winner> {
  const { ranking } = await study.json<{ ranking: readonly Winner[] }>('rank', '--json');
  const [first] = ranking;
  if (first === undefined) throw new Error('nothing is ranked');
  return first;
}

/** What systemd-analyze says of a unit with a drop-in; folder and line numbers left out. */
async function complaints(name: string, unit: string, dropIn?: string): Promise<readonly string[]> {
  const folder = join(study.folder, `verify-${name}`);
  await mkdir(join(folder, 'sglang.service.d'), { recursive: true });
  await writeFile(join(folder, 'sglang.service'), unit);
  if (dropIn !== undefined) await writeFile(join(folder, 'sglang.service.d', 'zz.conf'), dropIn);
  const words = ['verify', '--man=no', join(folder, 'sglang.service')];
  const result = await execa('systemd-analyze', words, {
    reject: false,
    env: { SYSTEMD_UNIT_PATH: `${folder}:` },
  });
  return `${result.stdout}\n${result.stderr}`
    .split('\n')
    .map((line) => line.replaceAll(folder, '').replace(/:\d+:/, ':'));
}

describe('a sweep over steps, top-k, draft tokens, running limit and the fused MoE flag', () => {
  test('finds the winner', async () => {
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
    expect((await winner()).assignment).toMatchObject({ 'max-running-requests': 16 });
  });

  test('differs from production in the winning flags only', async () => {
    const { assignment } = await winner();
    // A flag behind the last one gives the line in front of it a continuation.
    const lines = (text: string) => text.split('\n').map((line) => line.replace(/ \\$/, ''));
    const before = lines(await readFile(study.unit, 'utf8'));
    const after = lines(await readFile(at('recommended.service'), 'utf8'));
    const gone = before.filter((line) => !after.includes(line));
    const come = after.filter((line) => !before.includes(line));
    const flags = `${gone.join(' ')} ${come.join(' ')}`.match(/(?<=--)[a-z-]+/g) ?? [];
    const swept = Object.keys(assignment);
    // The line of production that holds the running limit holds host and port as well.
    const changed = flags.filter((flag) => flag !== 'host' && flag !== 'port');
    expect(changed.filter((flag) => !swept.includes(flag))).toEqual([]);

    const words = (text: readonly string[]) => text.join(' ').split(/[\s\\]+/);
    const expected = expectedWords(words(before), assignment);
    expect(words(after).toSorted()).toEqual(expected.toSorted());
  });

  test('leaves a unit and a drop-in in which systemd-analyze finds nothing new', async () => {
    const before = await readFile(study.unit, 'utf8');
    const known = await complaints('before', before);
    const unit = await complaints('unit', await readFile(at('recommended.service'), 'utf8'));
    const dropIn = await readFile(at('nightsweep.conf'), 'utf8');
    const dropped = await complaints('drop-in', before, dropIn);
    expect(unit.filter((line) => !known.includes(line))).toEqual([]);
    expect(dropped.filter((line) => !known.includes(line))).toEqual([]);
  });

  test('writes unit, drop-in, diff and launch command, and names them', async () => {
    const names = ['launch-command.txt', 'nightsweep.conf', 'recommended.diff'];
    const found = await readdir(join(study.folder, study.name));
    expect(found).toEqual(expect.arrayContaining([...names, 'recommended.service']));
    for (const name of names) expect(stdout).toContain(at(name));
    const diff = await readFile(at('recommended.diff'), 'utf8');
    expect(diff).toMatch(/^-.*--max-running-requests 1 /m);
    expect(diff).toMatch(/^\+.*--max-running-requests 16/m);
    expect(await readFile(at('nightsweep.conf'), 'utf8')).toMatch(/^ExecStart=$/m);
  });

  test('leaves the production unit as it was', async () => {
    expect(await readFile(study.unit, 'utf8')).toContain(`--port ${study.port} ${UNIT_FLAGS} `);
  });

  test('takes well under two minutes', () => {
    expect(seconds).toBeLessThan(120);
  });
});

/** Words of the unit with the flags of an assignment as they must be. */
function expectedWords(
  before: readonly string[],
  assignment: Readonly<Record<string, unknown>>,
): readonly string[] {
  const words = [...before];
  for (const [flag, value] of Object.entries(assignment)) {
    const name = `--${flag}`;
    const index = words.indexOf(name);
    if (value === null || value === false) {
      if (index >= 0) words.splice(index, 2);
    } else if (value === true) {
      if (index < 0) words.push(name);
    } else if (index >= 0) words[index + 1] = JSON.stringify(value);
    else words.push(name, JSON.stringify(value));
  }
  return words;
}
