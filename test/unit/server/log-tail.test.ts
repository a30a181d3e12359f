import { expect, test } from 'vitest';
import { ByteTail } from '../../../src/server/capped-log.ts';
import { LogTail } from '../../../src/server/log-tail.ts';

test('the tail is the last lines, oldest first', () => {
  const tail = new LogTail([]);
  tail.add('one\ntw');
  tail.add('o\nthree\n\n');
  expect(tail.lines(2)).toEqual(['two', 'three']);
  expect(tail.lines(0)).toEqual([]);
});

test('each state of a progress bar is a line of its own', () => {
  const tail = new LogTail([]);
  tail.add('load 1/2\rload 2/2\r\ndone\n');
  expect(tail.lines(9)).toEqual(['load 1/2', 'load 2/2', 'done']);
});

test('a secret that came in two pieces is not shown', () => {
  const tail = new LogTail(['hush-hush-123']);
  tail.add('it is hush-hu');
  tail.add('sh-123 today\n');
  expect(tail.lines(1)[0]).not.toContain('hush');
});

test('a flood keeps only its end', () => {
  const tail = new LogTail([]);
  for (let i = 0; i < 100_000; i++) tail.add(`line ${i}\n`);
  expect(tail.lines(1)).toEqual(['line 99999']);
  expect(tail.lines(100_000).length).toBeLessThan(10_000);
});

test('the end of a byte stream is kept, and what falls out is counted', () => {
  const tail = new ByteTail(5);
  const dropped = ['abc', 'def', 'ghijklmn', ''].map((text) => tail.add(Buffer.from(text)));
  expect(tail.bytes().toString()).toBe('jklmn');
  expect(dropped).toEqual([0, 1, 8, 0]);
});

test('a secret that the beginning of the kept text cuts in two does not show its end', () => {
  const secret = 'hush-hush-123';
  // 64 KiB are kept: the cut goes through every place of the secret in turn.
  for (let cut = 1; cut < secret.length; cut += 1) {
    const tail = new LogTail([secret]);
    tail.add(`first ${secret} ${'x'.repeat(64 * 1024 - 1 - cut)}`);
    const [line] = tail.lines(1);
    expect(line?.startsWith(' x'), String(cut)).toBe(true);
  }
});
