import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { split } from 'shlex';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../helpers/run-cli.ts';
import { freePort } from '../helpers/simulated-study.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Set-up that `npm test` and .ci/run do themselves. */
const SET_UP = ['npm ci && npm run build'];
/** Keep what you have (3) is a result, and not a fault of the page. */
const GOOD_EXITS = [0, 3];

/** Lines of the `sh` blocks of a page, in order. */
function commandsOf(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1] ?? '');
  return blocks.flatMap((block) => block.split('\n')).filter((line) => line.trim() !== '');
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

/** The files that the pages name, on a port of their own and with a server that starts at once. */
beforeAll(async () => {
  folder = await temporaryFolder();
  const port = String(await freePort());
  const inFolder = (path: string) => join(folder.path, path);
  await cp(at('search-spaces'), inFolder('search-spaces'), { recursive: true });
  for (const name of ['demo.yaml', 'sglang-demo.service']) {
    const text = await readFile(inFolder(`search-spaces/${name}`), 'utf8');
    const quick = text
      .replaceAll('30100', port)
      .replace('requests: 48', 'requests: 16')
      .replace('finalists: 2', 'finalists: 1')
      .replace('--speed, "20"', '--speed, "60", --sim-start-seconds, "2"');
    await writeFile(inFolder(`search-spaces/${name}`), quick);
  }
  await cp(at('test/fixtures/units/sglang-qwen.service'), inFolder('sglang-qwen.service'));
  await cp(at('test/fixtures/logs/sigterm-busy-0.5.23.log'), inFolder('sglang.log'));
});

afterAll(() => folder[Symbol.asyncDispose]());

async function pages(): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(at('docs'))).filter((name) => name.endsWith('.md'));
  // The first night makes what the other pages look at.
  names.sort(
    (a, b) => Number(b === 'first-night.md') - Number(a === 'first-night.md') || (a < b ? -1 : 1),
  );
  const texts = await Promise.all(names.map((name) => readFile(at(`docs/${name}`), 'utf8')));
  return new Map(names.map((name, i) => [name, texts[i] ?? '']));
}

describe('the documentation', () => {
  test('has no command that is not run here', async () => {
    const all = [...(await pages()).values()].flatMap(commandsOf);
    const others = all.filter((line) => !line.startsWith('nightsweep ') && !SET_UP.includes(line));
    expect(others).toEqual([]);
  });

  test('has commands that all work as they stand, page by page', async () => {
    const bad: string[] = [];
    let count = 0;
    for (const [name, page] of await pages()) {
      for (const line of commandsOf(page)) {
        if (SET_UP.includes(line)) continue;
        const { exitCode, stderr } = await runCli(split(line).slice(1), { cwd: folder.path });
        count += 1;
        if (!GOOD_EXITS.includes(exitCode ?? -1)) bad.push(`${name}: ${line}: ${stderr}`);
      }
    }
    expect(bad).toEqual([]);
    expect(count).toBeGreaterThan(20);
  }, 300_000);

  test('links to pages and pictures that exist', async () => {
    const known = new Set([
      ...(await readdir(at('docs'))),
      ...(await readdir(at('docs/images'))).map((name) => `images/${name}`),
    ]);
    const broken = [...(await pages())].flatMap(([name, page]) =>
      [...page.matchAll(/\]\((?!http)([^)#]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((target) => !known.has(target))
        .map((target) => `${name}: ${target}`),
    );
    expect(broken).toEqual([]);
  });
});
