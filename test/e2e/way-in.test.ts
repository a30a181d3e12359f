import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadStudy } from '../../src/config/load-study.ts';
import { runCli } from '../helpers/run-cli.ts';
import { helpText, sglangHelp } from '../helpers/sglang-help.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const fixture = (path: string) => fileURLToPath(new URL(`../fixtures/${path}`, import.meta.url));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const at = (name: string) => join(folder.path, name);
const run = (...words: readonly string[]) => runCli(words, { cwd: folder.path });

beforeAll(async () => {
  folder = await temporaryFolder();
  await copyFile(fixture('units/sglang-qwen.service'), at('sglang-qwen.service'));
});

afterAll(() => folder[Symbol.asyncDispose]());

describe('init', () => {
  test('makes of a unit file a study file that plans, in one command', async () => {
    const made = await run('init', '--from-unit', 'sglang-qwen.service', '--simulated');
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    const study = await loadStudy(at('sglang-qwen.yaml'));
    expect(study.target).toMatchObject({
      unitFile: at('sglang-qwen.service'),
      baseUrl: 'http://127.0.0.1:30000',
    });
    const planned = await run('plan', 'sglang-qwen.yaml');
    expect(planned).toMatchObject({ exitCode: 0 });
    expect(planned.stdout).toContain('0 baseline, production as it is');
  });

  test('makes of a launch command a study file with its port', async () => {
    const command = [
      'python3',
      '-m',
      'sglang.launch_server',
      '--model-path',
      '/m/a',
      '--port',
      '8123',
    ];
    expect((await run('init', '--out', 'command.yaml', '--', ...command)).exitCode).toBe(0);
    const { target } = await loadStudy(at('command.yaml'));
    expect(target).toMatchObject({ command, baseUrl: 'http://127.0.0.1:8123' });
  });

  test.each([
    [
      'does not replace a file',
      ['--from-unit', 'sglang-qwen.service', '--out', 'kept.yaml'],
      'is there already',
    ],
    [
      'refuses a command that is no SGLang',
      ['--out', 'x.yaml', '--', 'vllm', 'serve'],
      'does not start SGLang',
    ],
    [
      'does not write a key down',
      ['--out', 'x.yaml', '--', 'sglang', 'serve', '--api-key', 'sk-1'],
      'a key may not stand',
    ],
    ['says what it needs where nobody can be asked', [], '--from-unit UNIT_FILE'],
  ])('%s', async (_, words, message) => {
    await writeFile(at('kept.yaml'), 'mine');
    const { exitCode, stderr } = await run('init', ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('sk-1');
    expect(await readFile(at('kept.yaml'), 'utf8')).toBe('mine');
  });
});

interface FlagsJson {
  readonly version: string | null;
  readonly flags: readonly {
    readonly name: string;
    readonly aliases: readonly string[];
    readonly type: string;
    readonly choices: readonly string[] | null;
    readonly takes: string;
  }[];
}

describe('flags', () => {
  test('lists every flag of a help text, with what it takes', async () => {
    await writeFile(at('help.txt'), helpText('0.5.23'));
    const { stdout } = await run('flags', '--help-file', 'help.txt', '--json');
    const { flags } = JSON.parse(stdout) as FlagsJson;
    const pick = ({ name, aliases, type, takes }: FlagsJson['flags'][number]) => ({
      name,
      aliases,
      type,
      takes,
    });
    expect(flags.map(pick)).toEqual(
      sglangHelp('0.5.23').flags.map(({ name, aliases, type, takes }) => ({
        name,
        aliases,
        type,
        takes,
      })),
    );
  });

  test('lists what is worth tuning, with values, first version and rules', async () => {
    const { stdout } = await run('flags', '--help-file', 'help.txt');
    expect(stdout).toMatch(
      /--max-running-requests {2}\(since 0\.4\.9 or before\)\n {2}try 48, 96, 128, 256: .*\n(?: {2}.*\n)*? {2}rewrite: speculation limits running requests to 48/,
    );
    expect(stdout).not.toContain('--model-path');
    expect((await run('flags', '--help-file', 'help.txt', '--all')).stdout).toContain(
      '--model-path',
    );
  });

  test('of one flag shows the rules that touch it', async () => {
    const { stdout } = await run(
      'flags',
      '--help-file',
      'help.txt',
      '--flag',
      '--max_running_requests',
    );
    expect(stdout).toContain('running-limit-48 (rewrite');
  });

  test('of an unknown flag names the nearest', async () => {
    const { exitCode, stderr } = await run(
      'flags',
      '--help-file',
      'help.txt',
      '--flag',
      'max-runing-requests',
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain('did you mean --max-running-requests?');
  });
});

describe('explain', () => {
  test.each([
    ['server-bound', '(mark)'],
    ['out-of-memory', 'likely: mem-fraction-static too high'],
    ['p99_ttft_ms', 'Time to first token'],
    ['TPOT', '(last token'],
  ])('%s', async (word, meaning) => {
    expect((await run('explain', word)).stdout).toContain(meaning);
  });

  test('of a slip names the nearest word', async () => {
    expect((await run('explain', 'sever-bound')).stderr).toContain('did you mean server-bound?');
  });
});

describe('compare', () => {
  async function importTable(study: string, table: string, algorithm: string): Promise<void> {
    const assignment = `speculative-algorithm=${algorithm}`;
    const { exitCode, stderr } = await run(
      'import',
      fixture(`tables/${table}`),
      '--study',
      study,
      '--assignment',
      assignment,
      '--db',
      'c.sqlite',
      ...(study === 'a' ? ['--baseline'] : []),
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  }

  test('of two studies’ trials gives both speeds and the change at each concurrency', async () => {
    await importTable('a', 'no-mtp.txt', '~');
    await importTable('b', 'mtp.txt', 'NEXTN');
    const { stdout, stderr } = await run(
      'compare',
      'a:0',
      'b:1',
      '--db',
      'c.sqlite',
      '--profile',
      '1:0.5,16:0.5',
    );
    expect(stderr).toBe('');
    expect(stdout).toMatch(/C=1 +108\.0 +121\.5 {2}\+12\.5 %/);
    expect(stdout).toContain('B over A: ');
  });
});

describe('profile', () => {
  test('of a real log goes into a study file, whose comments stay', async () => {
    await run('init', '--from-unit', 'sglang-qwen.service', '--out', 'profiled.yaml');
    const before = await readFile(at('profiled.yaml'), 'utf8');
    const log = fixture('logs/sigterm-busy-0.5.23.log');
    expect((await run('profile', log, '--write', 'profiled.yaml')).exitCode).toBe(0);
    const after = await readFile(at('profiled.yaml'), 'utf8');
    const rest = (text: string) => text.split('\n').filter((line) => !line.startsWith('profile:'));
    expect(rest(after)).toEqual(rest(before));
    expect([...(await loadStudy(at('profiled.yaml'))).profile.keys()]).toEqual([4]);
  });

  test('of a file without any decode line says what it looked for', async () => {
    const { exitCode, stderr } = await run('profile', 'sglang-qwen.service');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Decode batch, #running-req: N');
  });
});
