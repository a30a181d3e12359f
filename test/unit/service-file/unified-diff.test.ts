import { expect, test } from 'vitest';
import { unifiedDiff } from '../../../src/service-file/unified-diff.ts';

const names = { from: 'a.service', to: 'b.service' };
const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

test('equal texts have no difference', () => {
  expect(unifiedDiff('a\n', 'a\n', names)).toBe('');
});

test('shows three lines around a change', () => {
  const before = lines(9);
  const after = before.map((line, i) => (i === 4 ? 'new' : line));
  expect(unifiedDiff(`${before.join('\n')}\n`, `${after.join('\n')}\n`, names)).toBe(
    '--- a.service\n+++ b.service\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+new\n line 6\n line 7\n line 8\n',
  );
});

test('distant changes are two hunks, near ones one', () => {
  const before = lines(30);
  const change = (...at: number[]): string =>
    before.map((line, i) => (at.includes(i) ? 'x' : line)).join('\n');
  const hunks = (after: string): number =>
    unifiedDiff(before.join('\n'), after, names).match(/^@@/gm)?.length ?? 0;
  expect(hunks(change(2, 25))).toBe(2);
  expect(hunks(change(2, 8))).toBe(1);
  expect(hunks(change(2, 9))).toBe(1);
  expect(hunks(change(2, 10))).toBe(2);
});

test('says when the last line has no line break', () => {
  expect(unifiedDiff('a\nb', 'a\nc\n', names)).toContain('-b\n\\ No newline at end of file\n+c\n');
});

test('counts an added text from nothing as diff does', () => {
  expect(unifiedDiff('', 'a\nb\n', names)).toContain('@@ -0,0 +1,2 @@\n+a\n+b\n');
});
