import { expect, test } from 'vitest';
import { hostFlags, serverEnvironment } from '../../../src/server/server-environment.ts';

test('own addresses and bind hosts need no proxy, in both spellings (A17)', () => {
  const environment = serverEnvironment({}, 'm', ['10.0.0.5', 'localhost']);
  const noProxy = '127.0.0.1,localhost,0.0.0.0,10.0.0.5';
  expect(environment).toMatchObject({ NO_PROXY: noProxy, no_proxy: noProxy });
});

test('exceptions of the caller stay, from both spellings', () => {
  const { NO_PROXY } = serverEnvironment({ NO_PROXY: 'a.b, c', no_proxy: 'd,c' }, 'm', []);
  expect(NO_PROXY).toBe('a.b,c,d,127.0.0.1,localhost,0.0.0.0');
});

test('the caller’s variables pass unchanged, and nothing is inherited', () => {
  const { NO_PROXY, no_proxy, ...rest } = serverEnvironment({ A: '1' }, 'marker', []);
  expect(NO_PROXY).toBe(no_proxy);
  expect(rest).toEqual({ A: '1', SPT_NOENV: '1', NIGHTSWEEP_RUN: 'marker' });
});

test.each([
  { argv: ['x', '--host', '0.0.0.0'], want: ['0.0.0.0'] },
  { argv: ['x', '--host=::1', '--host', 'b'], want: ['::1', 'b'] },
  { argv: ['x', '--hosts', 'b', '--host'], want: [] },
])('hosts of $argv are $want', ({ argv, want }) => {
  expect(hostFlags(argv)).toEqual(want);
});
