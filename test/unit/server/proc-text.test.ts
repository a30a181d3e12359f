import { expect, test } from 'vitest';
import {
  environValue,
  parseCommandLine,
  parseListeners,
  parseStat,
} from '../../../src/server/proc-text.ts';

const STAT =
  'R 9936 9930 3035 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 72182 3133440 397 18446744073709551615';

test('a stat line gives state, parent, group, session and start', () => {
  expect(parseStat(`9943 (cat) ${STAT}`)).toEqual({
    pid: 9943,
    name: 'cat',
    state: 'R',
    parentPid: 9936,
    groupId: 9930,
    sessionId: 3035,
    startTicks: 72182,
  });
});

test.each(['sglang::schedul', 'a b', ') S 1 1 1', '((x'])(
  'a process may call itself "%s" without shifting the fields',
  (name) => {
    expect(parseStat(`9943 (${name}) ${STAT}`)).toMatchObject({ name, startTicks: 72182 });
  },
);

test.each(['', '9943', '9943 (cat) R 1', 'x (cat) R'])('"%s" is no stat line', (text) => {
  expect(parseStat(text)).toBeUndefined();
});

test('a variable is found by its whole name', () => {
  const text = 'XNIGHTSWEEP_RUN=no\0NIGHTSWEEP_RUN=1-2-a=b\0NIGHTSWEEP_RUN_2=no\0';
  expect(environValue(text, 'NIGHTSWEEP_RUN')).toBe('1-2-a=b');
  expect(environValue('A=1\0', 'NIGHTSWEEP_RUN')).toBeUndefined();
});

test('a command line keeps empty arguments and drops the padding of renamed processes', () => {
  expect(parseCommandLine('python3\0-m\0\0x\0')).toEqual(['python3', '-m', '', 'x']);
  expect(parseCommandLine('sglang::scheduler\0\0\0\0')).toEqual(['sglang::scheduler']);
  expect(parseCommandLine('')).toEqual([]);
});

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 35051 1 000000003cecea4f 100 0 0 10 0
   1: 0100007F:7530 0100007F:A154 01 00000000:00000000 00:00000000 00000000  1000        0 35060 1 000000003cecea4f 100 0 0 10 0
   2: 0100007F:7530 0100007F:A155 06 00000000:00000000 00:00000000 00000000     0        0 0 3 000000003cecea4f
`;
const TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0 100 0 0 10 0
`;

test('only listening sockets count: not connections, not those in time-wait', () => {
  expect(parseListeners(TCP)).toEqual([
    { port: 30000, addressHex: '0100007F', userId: 1000, inode: 35051 },
  ]);
});

test('listeners on IPv6 addresses are read alike', () => {
  expect(parseListeners(TCP6)).toMatchObject([{ port: 8080, userId: 0, inode: 777 }]);
});
