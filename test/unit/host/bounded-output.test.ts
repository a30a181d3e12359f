import { expect, test } from 'vitest';
import { BoundedOutput } from '../../../src/host/bounded-output.ts';

test('output up to the limit is kept whole', () => {
  const output = new BoundedOutput(6);
  for (const part of ['ab', 'cd', 'ef']) output.add(Buffer.from(part));
  expect([output.text(), output.truncated]).toEqual(['abcdef', false]);
});

test('output beyond the limit is cut at its end and says so', () => {
  const output = new BoundedOutput(3);
  for (const part of ['ab', 'cd', 'ef']) output.add(Buffer.from(part));
  expect([output.text(), output.truncated]).toEqual(['abc', true]);
});

test('a character cut in two pieces is put together again', () => {
  const output = new BoundedOutput(9);
  const bytes = Buffer.from('ü');
  output.add(bytes.subarray(0, 1));
  output.add(bytes.subarray(1));
  expect(output.text()).toBe('ü');
});
