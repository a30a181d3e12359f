import { expect, test } from 'vitest';
import { parseEnvironmentFile } from '../../../src/service-file/environment-file.ts';

test.each([
  ['A=1\nB = 2 \n', { A: '1', B: '2' }],
  ['# c\n; c\nA=x # kept\n', { A: 'x # kept' }],
  ['A="x y"\nB=\'$z\'\n', { A: 'x y', B: '$z' }],
  ['A="x\\"y\\$z\\q"', { A: 'x"y$z\\q' }],
  ['A=a\\\nb\nC=1', { A: 'ab', C: '1' }],
  ['A="two\nlines"\nB=1', { A: 'two\nlines', B: '1' }],
  ["A='x' 'y'", { A: 'xy' }],
  ['A=it\'s "so"', { A: 'it\'s "so"' }],
  ['A=', { A: '' }],
  ['export A=1\nno assignment\n1X=2\nB=1', { B: '1' }],
  ['# ends in \\\nA=1\nB=2', { B: '2' }],
])('reads %j as systemd does', (text, expected) => {
  expect(Object.fromEntries(parseEnvironmentFile(text))).toEqual(expected);
});
