import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAIN, runCli } from '../helpers/run-cli.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { openTerminal } from '../helpers/terminal.ts';

const TABLE = fileURLToPath(new URL('../fixtures/tables/mtp.txt', import.meta.url));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  const program = join(folder.path, 'bin', 'nightsweep');
  await mkdir(join(folder.path, 'bin'));
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(program, 0o755);
  await writeFile(join(folder.path, 'only one.yaml'), 'study: [broken\n');
  await mkdir(join(folder.path, 'results'));
  for (const study of ['alpha', 'alpine']) {
    const { exitCode } = await runCli(
      ['import', TABLE, '--study', study, '--assignment', 'tp=4', '--baseline'],
      { cwd: folder.path },
    );
    expect(exitCode).toBe(0);
  }
});

afterAll(() => folder[Symbol.asyncDispose]());

/** A bash at its prompt, with the completion loaded and nothing of the machine's own set-up. */
async function bash() {
  const terminal = openTerminal('bash --norc --noprofile -i', {
    cwd: folder.path,
    environment: {
      PATH: `${join(folder.path, 'bin')}:${process.env['PATH'] ?? ''}`,
      PS1: 'prompt> ',
    },
  });
  terminal.type('stty cols 300; source <(nightsweep completion bash); echo loaded-$?\n');
  await terminal.shows('loaded-0');
  return terminal;
}

async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runCli(['complete', '--', ...words], { cwd: folder.path });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
}

describe('completion in bash', () => {
  test('finishes a command, an option and the name of a study, and the line runs', async () => {
    await using terminal = await bash();
    terminal.type('nightsweep stat\t');
    await terminal.shows('nightsweep status ');
    terminal.type('--stu\t');
    await terminal.shows('status --study ');
    terminal.type('alpi\t');
    await terminal.shows('--study alpine ');
    terminal.type('> printed; echo ran-$?\n');
    await terminal.shows('ran-0');
    expect(await readFile(join(folder.path, 'printed'), 'utf8')).toContain('alpine');
  });

  test('finishes a study file, blanks and all', async () => {
    await using terminal = await bash();
    terminal.type('nightsweep plan on\t');
    await terminal.shows('only\\ one.yaml');
  });

  test('never runs what stands in the line', async () => {
    await using terminal = await bash();
    terminal.type('nightsweep rank $(touch${IFS}harm) --stu\t');
    await terminal.shows('--study ');
    terminal.type('\u0003');
    terminal.type('test -e harm; echo harm-$?\n');
    await terminal.shows('harm-1');
  });
});

describe('complete', () => {
  test('offers commands, and nothing hidden', async () => {
    const found = await complete('re');
    expect(found).toEqual(['restore', 'recommend', 'report', 'replay', ':none']);
    expect(await complete('comple')).toEqual(['completion', ':none']);
  });

  test.each([
    ['the choices of an option', ['rank', '--score', ''], ['relative', 'time', 'tokens', ':none']],
    ['choices joined by =', ['rank', '--score=t'], ['--score=time', '--score=tokens', ':none']],
    ['the shells', ['completion', ''], ['bash', 'zsh', 'fish', ':none']],
    ['trials behind a colon', ['compare', 'alpha:'], ['alpha:0', ':none']],
    ['both sides of a comparison', ['compare', 'alpha', 'alp'], ['alpha', 'alpine', ':none']],
    ['words to explain', ['explain', 'server-b'], ['server-bound', ':none']],
    ['study files', ['sweep', ''], [':files yaml yml']],
    ['any file', ['report', '--out', ''], [':files']],
    ['studies of a database that is not there', ['rank', '--db', 'no', '--study', ''], [':none']],
    ['nothing behind --', ['init', '--', 'sgl'], [':none']],
  ])('offers %s', async (_, words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  test('offers an option once', async () => {
    expect(await complete('rank', '--study', 'alpha', '--st')).toEqual([':none']);
  });
});
