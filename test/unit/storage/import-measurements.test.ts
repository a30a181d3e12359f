import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAssignment } from '../../../src/storage/import/assignment-text.ts';
import { importMeasurements } from '../../../src/storage/import/import-measurements.ts';

const tables = join(import.meta.dirname, '../../fixtures/tables');
const read = (file: string) =>
  importMeasurements({ text: readFileSync(join(tables, file), 'utf8'), source: file });

describe('the printed table', () => {
  const points = read('mtp-fresh-baseline.txt');

  test('gives the throughput of each concurrency as a whole-run figure, marked imported', () => {
    expect(points.map((p) => [p.concurrency, p.outputTokensPerSecond])).toEqual([
      [1, 121.6],
      [4, 399.1],
      [16, 1213.5],
      [32, 1515.1],
      [64, 1582.5],
    ]);
    expect(points.every((p) => p.throughputKind === 'whole-run')).toBe(true);
    expect(points.every((p) => p.marks.some((m) => m.code === 'imported'))).toBe(true);
  });

  test('shows how many requests were decoding at a time', () => {
    const decoding = points.map((p) => p.decodingConcurrency?.toFixed(1));
    expect(decoding).toEqual(['1.0', '3.4', '14.3', '24.1', '23.9']);
  });

  test('marks 32 and 64 in flight, and no other, as bound by the server', () => {
    const bound = points.filter((p) => p.marks.some((m) => m.code === 'server-bound'));
    expect(bound.map((p) => p.concurrency)).toEqual([32, 64]);
  });

  test('is found between other lines', () => {
    const text = `Warming up | done\n${readFileSync(join(tables, 'mtp.txt'), 'utf8')}\nDone in 3 min\n`;
    expect(importMeasurements({ text, source: 'log' })).toHaveLength(6);
  });

  test('with unknown columns names what is unknown instead of calling it zero', () => {
    const [first] = read('no-mtp.txt');
    expect(first?.perRequestTokensPerSecond).toBeNull();
    expect(first?.marks[0]?.facts['unknown']).toContain('outputTokens');
  });

  test('with a word for a number is an error that names the line', () => {
    const text = ' C | Agg tok/s\n 1 | 100\n 4 | fast\n';
    expect(() => importMeasurements({ text, source: 'a.txt' })).toThrow('a.txt:3: "fast"');
  });

  test('with fewer answers than requests counts the rest as failed', () => {
    const text = ' C | Agg tok/s | Ok\n 16 | 100 | 24\n';
    expect(importMeasurements({ text, source: 'a' })[0]?.failureFraction).toBe(0.25);
  });
});

describe('bench_serving', () => {
  const points = read('bench-serving.jsonl');

  test('gives throughput, latencies and failures, though Python wrote Infinity and NaN', () => {
    expect(points[0]).toMatchObject({
      concurrency: 4,
      outputTokensPerSecond: 399.8,
      failed: 1,
      ttftMs: { p99: 300, n: 8 },
      tokensFrom: 'server',
    });
  });

  test('keeps nothing of server_info, whose keys are secret', () => {
    expect(JSON.stringify(points)).not.toContain('sk-made-up');
  });

  test('counts requested lengths of the OpenAI backend as estimates', () => {
    expect(points[1]?.tokensFrom).toBe('estimated');
  });
});

test('a file of another kind is an error', () => {
  expect(() => importMeasurements({ text: 'hello', source: 'x' })).toThrow('no measurements');
});

test('an assignment is read with absent flags, lists and quoted commas', () => {
  expect(parseAssignment('--a_b=~,c=[1, 2],d="x,y",e=48,f')).toEqual({
    'a-b': null,
    c: [1, 2],
    d: 'x,y',
    e: 48,
    f: true,
  });
});
