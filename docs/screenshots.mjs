// Makes the pictures of the documentation from a report and from what a sweep printed:
//   node docs/screenshots.mjs report.html sweep.txt
// Needs Debian's chromium (apt-get install chromium), or CHROMIUM with the path of another.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [report, output] = process.argv.slice(2);
if (report === undefined)
  throw new Error('usage: node docs/screenshots.mjs REPORT.html [SWEEP.txt]');
const image = (name) => fileURLToPath(new URL(`images/${name}.png`, import.meta.url));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

const views = [
  { name: 'report-desktop', width: 1040, height: 1500, colorScheme: 'light', at: '#verdict' },
  { name: 'report-dark', width: 1040, height: 1500, colorScheme: 'dark', at: '#ranking' },
  { name: 'report-phone', width: 390, height: 1500, colorScheme: 'light', at: '#verdict' },
];
for (const { name, width, height, colorScheme, at } of views) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(pathToFileURL(resolve(report)).href);
  await page.evaluate(`document.querySelector('${at}')?.scrollIntoView(); window.scrollBy(0, -90)`);
  await page.screenshot({ path: image(name) });
}

if (output !== undefined) {
  const text = (await readFile(output, 'utf8')).split('\n').slice(0, 42).join('\n');
  const page = await browser.newPage({ viewport: { width: 1000, height: 400 } });
  await page.setContent(
    '<body style="margin:0;background:#14171a"><pre style="margin:0;padding:16px;color:#e8eaed;font:13px/1.45 monospace;white-space:pre-wrap"></pre>',
  );
  await page.evaluate((shown) => {
    document.querySelector('pre').textContent = shown;
  }, text);
  await page.locator('pre').screenshot({ path: image('terminal') });
}
await browser.close();
