import { describe, expect, test } from 'vitest';
import { requireSglangLaunch } from '../../../src/service-file/read-service.ts';
import { serviceWarningText } from '../../../src/service-file/warning-text.ts';
import { service, unitText } from '../../helpers/unit-fixture.ts';

const LAUNCH = '/opt/env/bin/python3 -m sglang.launch_server --model-path /models/m';

function unit(...lines: string[]): string {
  return ['[Service]', ...lines, ''].join('\n');
}

function codes(text: string): string[] {
  return service(text).warnings.map(({ code }) => code);
}

describe('the command', () => {
  test('joins continued lines (U1)', () => {
    expect(service(unitText('one-flag-per-line.service')).argv.join(' ')).toBe(
      '/opt/env/bin/python3 -m sglang.launch_server --model-path /models/qwen --tp-size 4 --mem-fraction-static 0.85 --enable-torch-compile --host 0.0.0.0 --port 30000',
    );
  });

  test('skips comments between continued lines (U10)', () => {
    expect(service(unitText('comments-inside.service')).argv.slice(5)).toEqual([
      '--tp',
      '2',
      '--cuda-graph-bs',
      '1',
      '2',
      '4',
      '8',
      '--mem-frac',
      '0.7',
      '--json-model-override-args',
      '{"rope_scaling": null}',
    ]);
  });

  test('takes a bare \\; for a semicolon, and for itself where it is quoted or escaped', () => {
    const words = String.raw`\; "\;" "\\;" \\;`;
    expect(service(unit(`ExecStart=${LAUNCH} ${words}`)).argv.slice(-4)).toEqual([
      ';',
      String.raw`\;`,
      String.raw`\;`,
      String.raw`\;`,
    ]);
  });

  test('splits an unbraced variable at blanks (U2)', () => {
    const read = service(unitText('args-from-file.service'), {
      readEnvironmentFile: () => 'ARGS="--tp-size 2 --mem-fraction-static 0.8"\n',
    });
    expect(read.argv.slice(5)).toEqual(['--tp-size', '2', '--mem-fraction-static', '0.8']);
  });

  test('hands a braced variable over as one word and warns (U2)', () => {
    const text = unitText('args-from-file.service').replace('$ARGS', `\${ARGS}`);
    const read = service(text, { readEnvironmentFile: () => 'ARGS="--tp-size 2 --port 1"\n' });
    expect(read.argv.slice(5)).toEqual(['--tp-size 2 --port 1']);
    expect(read.warnings).toEqual([{ code: 'one-word-variable', name: 'ARGS' }]);
  });

  test('has no flags from an optional file that is absent (U2)', () => {
    expect(service(unitText('args-from-file.service')).argv.at(-1)).toBe('/models/m');
  });

  test('ends at a backslash that a blank follows, with a warning (U18)', () => {
    const read = service(unitText('blank-after-backslash.service'));
    expect(read.argv).not.toContain('--mem-fraction-static');
    expect(read.warnings[0]).toMatchObject({ code: 'blank-after-backslash', line: 4 });
    expect(read.warnings[1]).toMatchObject({ code: 'ignored-line', line: 5 });
  });

  test.each([
    ['%%', '%'],
    ['%n', 'sglang.service'],
    ['%N', 'sglang'],
    ['%t', '/run'],
    ['%x', '%x'],
    ['$$HOME', '$HOME'],
    ['a$HOME', 'a$HOME'],
    [`x-\${HOME}-y`, 'x-/h-y'],
    ['"a  b"', 'a  b'],
  ])('reads %s as systemd does', (written, expected) => {
    const text = unit('Environment=HOME=/h', `ExecStart=${LAUNCH} --served-model-name ${written}`);
    expect(service(text).argv.at(-1)).toBe(expected);
  });

  test('gives an instance its name', () => {
    const text = unit(`ExecStart=${LAUNCH} --port %i`);
    expect(service(text, { unitName: 'sglang@30001.service' }).argv.at(-1)).toBe('30001');
  });

  test('expands nothing behind the colon prefix', () => {
    expect(service(unit(`ExecStart=:${LAUNCH} --served-model-name $$x`)).argv.at(-1)).toBe('$$x');
  });

  test('leaves the prefix and argv[0] of an @ command out of the words', () => {
    const read = service(
      unit('ExecStart=-@/usr/bin/python3 sglang -m sglang.launch_server --port 1'),
    );
    expect(read.argv).toEqual(['/usr/bin/python3', '-m', 'sglang.launch_server', '--port', '1']);
    expect(read.command.prefix).toBe('-@');
  });
});

describe('drop-ins', () => {
  test('the command of a drop-in counts after a reset (U20)', () => {
    const dropIn = unit('ExecStart=', `ExecStart=${LAUNCH} --port 2`);
    expect(service([unit(`ExecStart=${LAUNCH} --port 1`), dropIn]).argv.at(-1)).toBe('2');
  });

  test('a second command without a reset is refused with both places (U20)', () => {
    const dropIn = unit(`ExecStart=${LAUNCH} --port 2`);
    expect(() => service([unit(`ExecStart=${LAUNCH}`), dropIn])).toThrow(
      /2 ExecStart lines \(\/etc\/systemd\/system\/sglang.service:2, \/run\/1.conf:2\)/,
    );
  });

  test('an empty Environment= forgets what came before (U20)', () => {
    const dropIn = unit('Environment=', 'Environment=B=2');
    const read = service([unit('Environment=A=1', `ExecStart=${LAUNCH}`), dropIn]);
    expect(read.environment).toEqual({ B: '2' });
  });
});

describe('the environment', () => {
  test('reads quoted values with colons and commas (U1)', () => {
    expect(service(unitText('one-flag-per-line.service')).environment).toMatchObject({
      NCCL_DEBUG_SUBSYS: 'INIT,NET:GRAPH',
      CUDA_VISIBLE_DEVICES: '0,1,2,3',
    });
  });

  test('reads several quoted assignments on one line (U3)', () => {
    expect(service(unitText('quoted-list.service')).environment).toEqual({
      HOME: '/home/serve',
      HF_HOME: '/data/hf',
      CUDA_HOME: '/usr/local/cuda',
      PATH: '/opt/env/bin:/usr/bin',
    });
  });

  test('keeps $PATH as it stands and warns (U4)', () => {
    const read = service(unitText('literal-path.service'));
    expect(read.environment['PATH']).toBe('/x/bin:$PATH');
    expect(read.warnings).toMatchObject([{ code: 'literal-variable', name: 'PATH', line: 2 }]);
  });

  test('a file overrides the unit wherever it stands', () => {
    const text = unit('EnvironmentFile=/f', 'Environment=A=unit', `ExecStart=${LAUNCH}`);
    expect(service(text, { readEnvironmentFile: () => 'A=file' }).environment).toEqual({
      A: 'file',
    });
  });

  test('UnsetEnvironment takes away at the end', () => {
    const text = unit('UnsetEnvironment=A B=2', 'Environment=A=1 B=2 C=3', `ExecStart=${LAUNCH}`);
    expect(service(text).environment).toEqual({ C: '3' });
  });

  test('a missing file without a dash is refused', () => {
    const text = unit('EnvironmentFile=/etc/none.conf', `ExecStart=${LAUNCH}`);
    expect(() => service(text)).toThrow(/:2: EnvironmentFile=\/etc\/none.conf does not exist/);
  });
});

describe('refusals', () => {
  test.each([
    [
      'User=%i in a unit that is no template (U6)',
      unit('User=%i', `ExecStart=${LAUNCH}`),
      /:2: User=%i is empty/,
    ],
    ['a quadlet (U11)', '[Container]\nImage=x\n', /Podman quadlet/],
    ['no command', unit('Restart=no'), /has no ExecStart/],
    ['an open quote', unit(`ExecStart=${LAUNCH} "x`), /quote that is not closed/],
    [
      'a specifier of the machine',
      unit(`ExecStart=${LAUNCH} --served-model-name %H`),
      /%H depends on the machine/,
    ],
  ])('refuses %s', (_, text, message) => {
    expect(() => service(text)).toThrow(message);
  });

  test.each([
    ['$(seq 1 8)', 'command substitution'],
    ['`date`', 'command substitution'],
    ['"$@"', 'script arguments'],
    [`\${TP:-4}`, 'a default or check'],
    ['/models/snapshots/*', 'a file name pattern'],
    ['| tee log', 'a list of commands'],
    ['>>/var/log/x', 'a redirection'],
    ['2>&1', 'a redirection'],
    ['~/models', 'the home directory'],
  ])('refuses %s, which needs a shell (U17)', (written, what) => {
    expect(() => service(unit(`ExecStart=${LAUNCH} --tp ${written}`))).toThrow(what);
  });

  test('accepts what looks like shell inside quotes', () => {
    const text = unit(
      `ExecStart=${LAUNCH} --constrained-json-whitespace-pattern "[\\n ]*" --x '> y'`,
    );
    expect(service(text).argv.slice(5)).toEqual([
      '--constrained-json-whitespace-pattern',
      '[\n ]*',
      '--x',
      '> y',
    ]);
  });

  test.each([
    [
      '/usr/bin/docker run --rm --name s image python3 -m sglang.launch_server --tp 2',
      /a container/,
    ],
    ['/usr/bin/env bash /srv/launch.sh', /a script/],
    ["/bin/bash -lc 'source /srv/run.sh 0.0.0.0 8080'", /a shell command line/],
    ['/usr/bin/vllm serve', /another program/],
  ])('requireSglangLaunch refuses %s', (command, message) => {
    const read = service(unit(`ExecStart=${command}`));
    expect(() => {
      requireSglangLaunch(read);
    }).toThrow(message);
  });

  test('requireSglangLaunch accepts env and taskset in front (U17)', () => {
    expect(() => {
      requireSglangLaunch(service(unitText('prefixes.service')));
    }).not.toThrow();
  });
});

describe('warnings', () => {
  test('the reference unit has none', () => {
    expect(codes(unitText('sglang-qwen.service'))).toEqual([]);
  });

  test('no warning text shows the value of a variable', () => {
    const text = unit('Environment=KEY=$secret-value', `ExecStart=${LAUNCH}`);
    expect(service(text).warnings.map(serviceWarningText).join()).not.toContain('secret-value');
  });
});
