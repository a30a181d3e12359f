import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../helpers/run-cli.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const COMMANDS = ['sweep', 'plan', 'rank', 'recommend', 'bench', 'import', 'export', 'status'];
const TABLE = fileURLToPath(new URL('../fixtures/tables/mtp.txt', import.meta.url));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder[Symbol.asyncDispose]());

const run = (...words: readonly string[]) => runCli(words, { cwd: folder.path });

describe('help', () => {
  test.each(COMMANDS)('of %s exits with 0 and holds an example of it', async (command) => {
    const { exitCode, stdout, stderr } = await run(command, '--help');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`Examples?:\n  nightsweep ${command}`));
  });

  test('of simulate shows SGLang’s flags and the simulator’s own', async () => {
    const { exitCode, stdout } = await run('simulate', '--help');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('--max-running-requests');
    expect(stdout).toContain('--speed');
  });

  test('of the program names every command and every exit code', async () => {
    const { exitCode, stdout } = await run('--help');
    expect(exitCode).toBe(0);
    for (const command of [...COMMANDS, 'simulate']) expect(stdout).toContain(`  ${command}`);
    for (const code of [0, 1, 2, 3, 70, 130])
      expect(stdout).toMatch(new RegExp(`^ +${code} +`, 'm'));
  });
});

describe('a slip on the command line', () => {
  test.each([
    ['an unknown command', ['swep'], 'sweep'],
    ['an unknown option', ['rank', '--studdy', 'x'], '--study'],
    ['a missing argument', ['sweep'], "missing required argument 'study'"],
    ['a missing option', ['rank'], "'--study <name>' not specified"],
    ['a wrong choice', ['rank', '--study', 'x', '--score', 'fast'], 'relative, time, tokens'],
    ['a wrong profile', ['rank', '--study', 'x', '--profile', '1:0.5,4'], '1:0.5'],
    ['a wrong concurrency', ['bench', 'many'], '"many"'],
  ])('%s exits with 2 and says what would be right', async (_, words, right) => {
    const { exitCode, stderr } = await run(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(right);
  });
});

describe('a study that is not there', () => {
  test.each(['rank', 'export', 'status'])('%s names those that are', async (command) => {
    const database = `${folder.path}/names.sqlite`;
    for (const study of ['alpha', 'beta']) {
      const flags = ['--study', study, '--assignment', 'tp=4', '--db', database];
      expect((await run('import', TABLE, ...flags)).exitCode).toBe(0);
    }
    const { exitCode, stderr } = await run(command, '--study', 'alpa', '--db', database);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no study named alpa');
    expect(stderr).toContain('did you mean alpha? it has: alpha, beta');
  });

  test.each(['rank', 'export', 'status'])('%s makes no database', async (command) => {
    const database = `${folder.path}/absent-${command}.sqlite`;
    const { exitCode, stderr } = await run(command, '--study', 'x', '--db', database);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(database);
    expect(existsSync(database)).toBe(false);
  });
});

describe('a study file with a mistake', () => {
  const CASES = [
    ['an unknown key', 'study: s\nprofil: {1: 1}\n', 'bad.yaml:2:1', 'profile'],
    ['a wrong weight', 'study: s\nprofile: {1: 0.5, 4: 0.4}\n', 'bad.yaml:2:', '0.9'],
    ['no YAML', 'study: [s\n', 'bad.yaml:', 'YAML'],
  ] as const;

  test.each(CASES)(
    '%s is told with line and column, and nothing is touched',
    async (_, text, place, what) => {
      await using own = await temporaryFolder();
      await writeFile(`${own.path}/bad.yaml`, text);
      for (const command of ['sweep', 'plan']) {
        const { exitCode, stderr } = await runCli([command, 'bad.yaml'], { cwd: own.path });
        expect(exitCode).toBe(2);
        expect(stderr).toMatch(new RegExp(`${place.replaceAll('.', '\\.')}\\d*`));
        expect(stderr).toContain(what);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
      expect(await readdir(own.path)).toEqual(['bad.yaml']);
    },
  );

  test('that is not there is told by its name', async () => {
    const { exitCode, stderr } = await run('sweep', 'nowhere.yaml');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('nowhere.yaml');
  });
});
