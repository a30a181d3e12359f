import { expect, test } from 'vitest';
import { PrefixCache } from '../../../src/simulator/prefix-cache.ts';
import { promptFromIds, promptFromText } from '../../../src/simulator/prompt.ts';
import { stratified } from '../../../src/simulator/random.ts';

test('the kind of a prompt is read from its content', () => {
  const code = 'function add(a: number) { return items[a] + (a); }\n'.repeat(20);
  const prose = 'The boat left the harbour before dawn, and nobody saw it go. '.repeat(20);
  const scattered = Array.from({ length: 500 }, (_, i) => (i * 7919) % 150_000);
  expect(promptFromText(code).kind).toBe('code');
  expect(promptFromText(prose).kind).toBe('text');
  expect(promptFromIds(scattered).kind).toBe('random');
  expect(promptFromIds(new Array<number>(1000).fill(23_066)).kind).toBe('repeated');
});

test('a prefix is found again in whole blocks, never the whole prompt', () => {
  const cache = new PrefixCache(64, 10_000);
  const ids = Array.from({ length: 256 }, (_, i) => i);
  expect(cache.matchAndInsert(ids)).toBe(0);
  expect(cache.matchAndInsert(ids)).toBe(192);
  expect(cache.matchAndInsert([...ids.slice(0, 100), ...ids])).toBe(64);
  cache.clear();
  expect(cache.matchAndInsert(ids)).toBe(0);
});

test('any 16 consecutive stratified numbers fall into 16 different sixteenths', () => {
  for (const start of [0, 5, 1000]) {
    const cells = Array.from({ length: 16 }, (_, i) => Math.floor(stratified(start + i, 9) * 16));
    expect(new Set(cells).size).toBe(16);
  }
});
