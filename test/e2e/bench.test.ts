import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningCli, runCli, startCli } from '../helpers/run-cli.ts';
import { freePort } from '../helpers/simulated-study.ts';

let server: RunningCli;
let address: string;

beforeAll(async () => {
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  const flags = ['--model-path', 'any', '--port', `${port}`, '--speed', '50'];
  server = startCli(['simulate', ...flags, '--sim-start-seconds', '2']);
  while (!(await fetch(`${address}/health`).catch(() => undefined))?.ok) await sleep(50);
});

afterAll(async () => {
  server.kill('SIGTERM');
  await server.result;
});

async function bench(...more: readonly string[]): Promise<string> {
  const sizes = ['--input-tokens', '50', '--output-tokens', '10'];
  const result = await runCli(['bench', '1', '4', '--base-url', address, ...sizes, ...more]);
  expect(result.exitCode, result.stderr).toBe(0);
  return result.stdout;
}

test('prints the columns of the reference benchmark', async () => {
  const [header, rule, ...rows] = (await bench()).trimEnd().split('\n');
  expect(header).toBe('   C |  Agg tok/s |  Per-req tok/s |   Tokens |  Wall(s) |   Ok');
  expect(rule).toBe('-'.repeat(65));
  expect(rows.map((row) => row.split('|').map((cell) => cell.trim()))).toMatchObject([
    { 0: '1', 3: '40', 5: '4' },
    { 0: '4', 3: '80', 5: '8' },
  ]);
});

test('prints a JSON line per point in the keys of bench_serving', async () => {
  const lines = (await bench('--format', 'jsonl')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { max_concurrency: 1, completed: 4, total_output_tokens: 40 },
    { max_concurrency: 4, completed: 8, total_output_tokens: 80 },
  ]);
});

test('prints JSON that is one valid document', async () => {
  expect(JSON.parse(await bench('--format', 'json'))).toBeDefined();
});

test('compares two servers in turns, with each change as JSON', async () => {
  const text = await bench('--compare', address, '--rounds', '2', '--format', 'json');
  const { points, comparison } = JSON.parse(text) as {
    points: unknown[];
    comparison: { per_point: Record<string, unknown>[] };
  };
  // Two concurrencies, two servers, two rounds.
  expect(points).toHaveLength(8);
  expect(comparison.per_point).toMatchObject([
    { load: '1', measured_on_both: true, rounds: 2 },
    { load: '4', measured_on_both: true, rounds: 2 },
  ]);
});

test('says on standard error whether this machine can take the streams', async () => {
  const words = ['bench', '2', '--base-url', address, '--input-tokens', '50', '--output-tokens'];
  const { stderr, exitCode } = await runCli([...words, '10', '--self-check']);
  expect(exitCode).toBe(0);
  expect(stderr).toContain('self-check: 2 streams of 100 chunks/s are taken');
});
