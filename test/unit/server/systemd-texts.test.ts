import { expect, test } from 'vitest';
import { systemdWords } from '../../../src/server/systemd-access.ts';
import {
  environmentChange,
  environmentFile,
  trialFiles,
} from '../../../src/server/systemd-drop-in.ts';
import { runs } from '../../../src/server/systemd-proof.ts';
import { endOf } from '../../../src/server/systemd-server.ts';
import { parseShow } from '../../../src/server/systemd-unit-state.ts';
import { parseEnvironmentFile } from '../../../src/service-file/environment-file.ts';

const PATHS = {
  dropIn: '/run/systemd/system/a.service.d/zzzz-nightsweep.conf',
  state: '/run/nightsweep/a.service',
  environment: '/run/nightsweep/a.service/trial.env',
  journal: '',
  lock: '',
  lease: '',
  guard: '',
  restored: '',
  restoring: '',
};

test('a trial drop-in resets the command, keeps systemd from restarting it, and holds no value', () => {
  const request = {
    argv: ['/bin/server', '--a', '50%', '--b', '$x'],
    environment: { KEEP: '1', KEY: 'secret' },
    baseUrl: 'http://127.0.0.1:1',
    logPath: '',
  };
  const files = trialFiles({ paths: PATHS }, request, { environment: { KEEP: '1', GONE: 'x' } });
  expect(files.dropIn).toContain('Restart=no\n');
  expect(files.dropIn).toContain('\nExecStart=\nExecStart=/bin/server');
  expect(files.dropIn).toContain('50%%');
  expect(files.dropIn).toContain('$$x');
  expect(files.dropIn).toContain('UnsetEnvironment=\nUnsetEnvironment=GONE\n');
  expect(files.dropIn).not.toContain('secret');
  expect(files.environment).toBe('KEY="secret"\n');
});

test('a variable that production unsets stays unset, unless the trial sets it', () => {
  const request = { argv: ['/a'], environment: { B: '1' }, baseUrl: 'http://a:1', logPath: '' };
  const { dropIn } = trialFiles({ paths: PATHS }, request, { environment: {}, unset: ['A', 'B'] });
  expect(dropIn).toContain('UnsetEnvironment=A\n');
});

test.each(['A B', '1A', 'A=B', 'A\nExecStart', ''])(
  '%j is refused as the name of a variable',
  (name) => {
    const request = {
      argv: ['/a'],
      environment: { [name]: '1' },
      baseUrl: 'http://a:1',
      logPath: '',
    };
    expect(() => trialFiles({ paths: PATHS }, request, { environment: {} })).toThrow(/not a name/);
  },
);

test('an environment file is read back as exactly the values written', () => {
  const values = { A: 'a "b" \\ $c `d` \'e\' # f ; g', B: '', C: ' x ', D: 'a\nb', E: '%n' };
  expect(Object.fromEntries(parseEnvironmentFile(environmentFile(values)))).toEqual(values);
});

test('only what differs from production is set or unset', () => {
  expect(environmentChange({ A: '1', B: '2', C: '3' }, { A: '1', B: 'x', D: '4' })).toEqual({
    set: { B: 'x', D: '4' },
    unset: ['C'],
  });
});

test.each([
  { words: ['/v/bin/python3', '-m', 's', '--a'], runs: true },
  { words: ['/v/bin/python3', '/v/bin/s', '-m', 's', '--a'], runs: true },
  { words: ['(python3)'], runs: false },
  { words: ['/v/bin/python3', '-m', 's', '--b'], runs: false },
  { words: ['/v/bin/python3', '-m', 's', '--a', '--b'], runs: false },
])('$words is the asked command: $runs', ({ words, runs: want }) => {
  expect(runs(words, ['/v/bin/python3', '-m', 's', '--a'])).toBe(want);
});

const shown = (lines: string) => parseShow(`InvocationID=aaaa\nMainPID=0\n${lines}`);

test.each([
  { lines: 'MainPID=7', want: undefined },
  { lines: 'ExecMainCode=1\nExecMainStatus=3', want: { code: 3, signal: null } },
  { lines: 'ExecMainCode=2\nExecMainStatus=9', want: { code: null, signal: 'SIGKILL' } },
  { lines: 'ExecMainCode=3\nExecMainStatus=11', want: { code: null, signal: 'SIGSEGV' } },
  { lines: 'InvocationID=bbbb\nMainPID=7', want: { code: null, signal: null } },
])('a unit that shows "$lines" ended as $want', ({ lines, want }) => {
  expect(endOf(shown(lines), { pid: 7, invocationId: 'aaaa' })).toEqual(want);
});

test('a property with an equals sign in its value is read whole, an absent one is empty', () => {
  const state = parseShow('FragmentPath=/a=b\nDropInPaths=/a /b\nJob=0\nNeedDaemonReload=yes\n');
  expect(state).toMatchObject({
    fragmentPath: '/a=b',
    dropInPaths: ['/a', '/b'],
    hasJob: false,
    needsReload: true,
    unitFileState: '',
    mainPid: 0,
  });
});

test("a user's systemd is reached without a session", () => {
  expect(systemdWords({ userId: 1000 }, 'systemctl', 'stop', 'a.service')).toEqual([
    'env',
    'XDG_RUNTIME_DIR=/run/user/1000',
    'systemctl',
    '--user',
    'stop',
    'a.service',
  ]);
});
