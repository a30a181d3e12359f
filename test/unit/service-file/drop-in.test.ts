import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emitDropIn, renderDropIn } from '../../../src/service-file/drop-in.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';
import { service, unitText } from '../../helpers/unit-fixture.ts';

const help = sglangHelp('0.5.10');
const options = { unitName: 'sglang.service' };
const LAUNCH = '/opt/env/bin/python3 -m sglang.launch_server --model-path /models/m';
const hostile = fc.string({
  unit: fc.constantFrom(...Array.from(' \t"\'\\%$;#={}[]~*|>&`a1é𝄞-')),
  maxLength: 12,
});

describe('emitDropIn', () => {
  test('resets the command and writes one flag per line', () => {
    expect(
      emitDropIn(
        service(unitText('quoted-list.service')),
        { 'context-length': 8192 },
        help,
        options,
      ),
    ).toBe(
      [
        '[Service]',
        'ExecStart=',
        'ExecStart=/opt/env/bin/python -m sglang.launch_server \\',
        '  --model-path /models/m \\',
        '  --context-length 8192',
        '',
      ].join('\n'),
    );
  });

  test('the process receives JSON with percent and dollar exactly (U20)', () => {
    const json = '{"a": "50%", "b": "$x"}';
    const unit = unitText('sglang-qwen.service');
    const dropIn = emitDropIn(service(unit), { 'json-model-override-args': json }, help, options);
    expect(service([unit, dropIn]).argv.slice(-2)).toEqual(['--json-model-override-args', json]);
  });

  test('sets and unsets variables', () => {
    const unit = unitText('sglang-qwen.service');
    const changed = { 'env.NCCL_ALGO': 'Tree', 'env.NCCL_PROTO': null, 'env.X': 'a "b"' };
    const dropIn = emitDropIn(service(unit), changed, help, options);
    const { environment } = service([unit, dropIn]);
    expect(environment).toMatchObject({ NCCL_ALGO: 'Tree', X: 'a "b"', NCCL_P2P_DISABLE: '1' });
    expect(environment).not.toHaveProperty('NCCL_PROTO');
  });

  test('holds no value of an environment file, whose variables stay unexpanded', () => {
    const unit = `[Service]\nEnvironmentFile=/f\nExecStart=${LAUNCH} --api-key \${KEY} --port 1\n`;
    const read = { ...options, readEnvironmentFile: () => 'KEY=very-secret' };
    const dropIn = emitDropIn(service(unit, read), { port: 2 }, help, read);
    expect(dropIn).not.toContain('very-secret');
    expect(dropIn).toContain(`--api-key \${KEY}`);
  });

  test('keeps prefix and argv[0] of the command', () => {
    const unit = '[Service]\nExecStart=-@/usr/bin/python3 sg -m sglang.launch_server --port 1\n';
    expect(emitDropIn(service(unit), { port: 2 }, help, options)).toContain(
      'ExecStart=-@/usr/bin/python3 sg -m sglang.launch_server \\\n  --port 2\n',
    );
  });

  test('hostile values reach the process as they are', () => {
    const unit = unitText('sglang-qwen.service');
    fc.assert(
      fc.property(hostile, hostile, (name, variable) => {
        const assignment = { 'served-model-name': name, 'env.HOSTILE': variable };
        const dropIn = emitDropIn(service(unit), assignment, help, options);
        const { argv, environment } = service([unit, dropIn]);
        const given = argv
          .slice(-2)
          .join(' ')
          .replace('--served-model-name=', '--served-model-name ');
        expect(given.slice(given.indexOf('--served-model-name'))).toBe(
          `--served-model-name ${name}`,
        );
        expect(environment['HOSTILE']).toBe(variable);
      }),
      { numRuns: 300 },
    );
  });
});

describe('renderDropIn', () => {
  test('every argv comes back as it went in', () => {
    fc.assert(
      fc.property(
        fc.array(hostile, { maxLength: 6 }),
        fc.constantFrom('', '-', ':', '+'),
        (words, prefix) => {
          const argv = ['/usr/bin/python3', '-m', 'sglang.launch_server', ...words];
          expect(service(renderDropIn({ argv, prefix })).argv).toEqual(argv);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(['\\;', ';', '"', "'", '\\', '$', '%', '#', '', ' '])(
    'the word %j comes back',
    (word) => {
      const argv = ['/usr/bin/python3', '-m', 'sglang.launch_server', word];
      expect(service(renderDropIn({ argv })).argv).toEqual(argv);
    },
  );

  test('writes further settings in front of the command', () => {
    const text = renderDropIn({ argv: ['/usr/bin/sglang', 'serve'], settings: ['Restart=no'] });
    expect(text).toBe('[Service]\nRestart=no\nExecStart=\nExecStart=/usr/bin/sglang serve\n');
  });

  test('refuses a word with a line break', () => {
    expect(() => renderDropIn({ argv: ['/usr/bin/sglang', 'serve', 'a\nb'] })).toThrow(
      /line break/,
    );
  });
});
