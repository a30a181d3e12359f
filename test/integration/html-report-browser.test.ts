import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html-report.ts';
import { manyTrials, reportInput } from '../helpers/many-trials.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** Debian's (apt-get install chromium); .ci/run installs it. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

let browser: Browser;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let url: string;

beforeAll(async () => {
  const executablePath = CHROMIUM.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('no chromium: apt-get install chromium');
  // Containers run as root, where Chromium's sandbox cannot work; the page is our own.
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  folder = await temporaryFolder();
  const file = join(folder.path, 'report.html');
  await writeFile(file, htmlReport(reportInput(manyTrials(300))));
  url = pathToFileURL(file).href;
});

afterAll(async () => {
  await browser.close();
  await folder[Symbol.asyncDispose]();
});

interface Opened {
  readonly page: Page;
  /** Console messages, errors of the page, and requests beyond the file itself. */
  readonly complaints: readonly string[];
}

async function open(width: number, colorScheme: 'light' | 'dark' = 'light'): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (request.url() !== url && !request.url().startsWith('data:')) complaints.push(request.url());
  });
  await page.goto(url);
  return { page, complaints };
}

describe.each([390, 1440])('at %i px', (width) => {
  test('the report opens without a console message or an outside request', async () => {
    const { page, complaints } = await open(width);
    expect(complaints).toEqual([]);
    expect(await page.title()).toBe('agentic: nightsweep report');
    await page.close();
  });

  test('the page is no wider than the window', async () => {
    const { page } = await open(width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await page.close();
  });

  test('no label of a picture is cut by its edge', async () => {
    const { page } = await open(width);
    const cut = await page.evaluate(`[...document.querySelectorAll('.plot svg')]
      .filter((svg) => svg.getBoundingClientRect().width > 0)
      .flatMap((svg) => [...svg.querySelectorAll('text')]
        .filter((text) => {
          const [a, b] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
          return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
        })
        .map((text) => text.textContent))`);
    expect(cut).toEqual([]);
    await page.close();
  });

  test('every picture is drawn once, at a size where its labels can be read', async () => {
    const { page } = await open(width);
    const sizes = await page.evaluate(`[...document.querySelectorAll('figure')].map((figure) =>
      [...figure.querySelectorAll('svg')].filter((svg) => svg.getBoundingClientRect().width > 0)
        .map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))`);
    for (const scales of sizes as number[][]) {
      expect(scales.length).toBe(1);
      expect(scales[0]).toBeGreaterThan(0.9);
    }
    await page.close();
  });
});

describe('dark', () => {
  test('text is light on a dark ground', async () => {
    const { page } = await open(1440, 'dark');
    const colors = await page.evaluate(
      '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
    );
    expect(colors).toEqual(['rgb(232, 234, 237)', 'rgb(20, 23, 26)']);
    await page.close();
  });
});
