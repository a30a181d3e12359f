import { describe, expect, test } from 'vitest';
import type { Assignment } from '../../../src/search-space/assignment.ts';
import { assignedLaunch, emitUnit } from '../../../src/service-file/emit-unit.ts';
import type { ReadServiceOptions } from '../../../src/service-file/service.ts';
import { unifiedDiff } from '../../../src/service-file/unified-diff.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';
import { service, unitText } from '../../helpers/unit-fixture.ts';

const help = sglangHelp('0.5.10');
const LAUNCH = '/opt/env/bin/python3 -m sglang.launch_server --model-path /models/m';
const UNITS = [
  'sglang-qwen',
  'one-flag-per-line',
  'args-from-file',
  'quoted-list',
  'literal-path',
  'comments-inside',
  'prefixes',
].map((name) => `${name}.service`);

function emit(
  texts: string | readonly string[],
  assignment: Assignment,
  options: Partial<ReadServiceOptions> = {},
): string[] {
  const all = { unitName: 'sglang.service', ...options };
  return emitUnit(service(texts, options), assignment, help, all).files.map(({ text }) => text);
}

/** Lines that go and come, without context. */
function changes(before: string, after: string | undefined): string[] {
  return unifiedDiff(before, after ?? '', { from: 'a', to: 'b' })
    .split('\n')
    .filter((line) => /^[-+](?!-- a|\+\+ b)/.test(line));
}

describe('emitUnit', () => {
  test.each(UNITS)('an untouched %s is written back byte for byte', (name) => {
    expect(emit(unitText(name), {})).toEqual([unitText(name)]);
  });

  test('a sweep of the reference unit changes the winning flags only', () => {
    const before = unitText('sglang-qwen.service');
    const [after] = emit(before, {
      'speculative-num-steps': 3,
      'speculative-eagle-topk': 2,
      'speculative-num-draft-tokens': 6,
      'max-running-requests': 96,
      'enable-fused-moe-sum-all-reduce': true,
    });
    expect(changes(before, after)).toEqual([
      '-  --speculative-num-steps 1 \\',
      '-  --speculative-eagle-topk 1 \\',
      '-  --mamba-scheduler-strategy extra_buffer',
      '+  --speculative-num-steps 3 \\',
      '+  --speculative-eagle-topk 2 \\',
      '+  --mamba-scheduler-strategy extra_buffer \\',
      '+  --speculative-num-draft-tokens 6 \\',
      '+  --max-running-requests 96 \\',
      '+  --enable-fused-moe-sum-all-reduce',
    ]);
  });

  test('production values leave the reference unit as it is', () => {
    const before = unitText('sglang-qwen.service');
    const same = { 'speculative-num-steps': 1, 'tp-size': 4, 'env.NCCL_ALGO': 'Ring' };
    expect(emit(before, same)).toEqual([before]);
  });

  test('removed flags take their lines with them, the last one its continuation mark', () => {
    const before = unitText('one-flag-per-line.service');
    const [after] = emit(before, { port: null, host: null, 'enable-torch-compile': false });
    expect(changes(before, after)).toEqual([
      '-    --mem-fraction-static 0.85 \\',
      '-    --enable-torch-compile \\',
      '-    --host 0.0.0.0 \\',
      '-    --port 30000',
      '+    --mem-fraction-static 0.85',
    ]);
  });

  test('a removed flag leaves its neighbours on the line', () => {
    const before = unitText('sglang-qwen.service');
    expect(changes(before, emit(before, { host: null })[0])).toEqual([
      '-  --host 0.0.0.0 --port 30000 \\',
      '+  --port 30000 \\',
    ]);
  });

  test('comments inside the command stay (U10)', () => {
    const before = unitText('comments-inside.service');
    const [after] = emit(before, { 'cuda-graph-bs': [1, 2], 'mem-fraction-static': 0.8 });
    expect(changes(before, after)).toEqual([
      '-  --cuda-graph-bs 1 2 4 8 \\',
      '+  --cuda-graph-bs 1 2 \\',
      '-  --mem-frac 0.7 \\',
      '+  --mem-fraction-static 0.8 \\',
    ]);
  });

  test('an abbreviated flag stands once afterwards (U19)', () => {
    const text = `[Service]\nExecStart=${LAUNCH} --mem-frac 0.7\n`;
    expect(emit(text, { 'mem-fraction-static': 0.8 })).toEqual([
      `[Service]\nExecStart=${LAUNCH} --mem-fraction-static 0.8\n`,
    ]);
  });

  test('a value keeps its quotes', () => {
    const text = `[Service]\nExecStart=${LAUNCH} --host "0.0.0.0"\n`;
    expect(emit(text, { host: '::1' })[0]).toContain('--host "::1"');
  });

  test('a one-line command without a line break at the end grows on its line', () => {
    const text = `[Service]\nExecStart=${LAUNCH}`;
    expect(emit(text, { port: 1 })).toEqual([`${text} --port 1`]);
  });

  test('line breaks of another system stay', () => {
    const text = `[Service]\r\nExecStart=${LAUNCH} \\\r\n\t--port 1\r\nRestart=no\r\n`;
    expect(emit(text, { 'page-size': 64 })[0]).toBe(
      `[Service]\r\nExecStart=${LAUNCH} \\\r\n\t--port 1 \\\r\n\t--page-size 64\r\nRestart=no\r\n`,
    );
  });

  test('a variable of flags stays when none of them changes', () => {
    const options = { readEnvironmentFile: () => 'ARGS=--tp-size 2' };
    expect(emit(unitText('args-from-file.service'), { port: 1 }, options)[0]).toMatch(
      / \$ARGS --port 1\n$/,
    );
  });

  test('a variable of flags is replaced by its words when one of them changes (U2)', () => {
    const options = {
      unitName: 'sglang.service',
      readEnvironmentFile: () => 'ARGS=--tp-size 2 --port 1',
    };
    const read = service(unitText('args-from-file.service'), options);
    const emitted = emitUnit(read, { 'tp-size': 4 }, help, options);
    expect(emitted.files[0]?.text).toMatch(/ --tp-size 4 --port 1\n$/);
    expect(emitted.inlinedVariables).toEqual(['ARGS']);
  });

  test('a value from a variable is replaced by the new one alone', () => {
    const text = `[Service]\nEnvironment=TP=2\nExecStart=${LAUNCH} --tp-size \${TP} --port 1\n`;
    expect(emit(text, { 'tp-size': 4 })[0]).toBe(text.replace(`\${TP}`, '4'));
  });

  test('the file whose command is in force is the one that changes', () => {
    const unit = `[Service]\nExecStart=${LAUNCH} --port 1\n`;
    const dropIn = `[Service]\nExecStart=\nExecStart=${LAUNCH} --port 2\n`;
    expect(emit([unit, dropIn], { port: 3 })).toEqual([
      unit,
      dropIn.replace('--port 2', '--port 3'),
    ]);
  });

  test('refuses to write behind a backslash and a blank (U18)', () => {
    expect(() => emit(unitText('blank-after-backslash.service'), { port: 1 })).toThrow(
      /sglang.service:4: the backslash is followed by a blank/,
    );
  });

  test('refuses a service that starts a script', () => {
    expect(() => emit('[Service]\nExecStart=/srv/run.sh\n', {})).toThrow(/starts a script/);
  });
});

describe('variables', () => {
  test.each([
    [
      { 'env.NCCL_ALGO': 'Tree' },
      [
        '-Environment="NCCL_ALGO=Ring" "NCCL_PROTO=LL"',
        '+Environment="NCCL_ALGO=Tree" "NCCL_PROTO=LL"',
      ],
    ],
    [
      { 'env.NCCL_PROTO': null },
      ['-Environment="NCCL_ALGO=Ring" "NCCL_PROTO=LL"', '+Environment="NCCL_ALGO=Ring"'],
    ],
    [
      { 'env.SGLANG_ENABLE_SPEC_V2': 0 },
      [
        '-Environment=SGLANG_ENABLE_SPEC_V2=1 NCCL_P2P_DISABLE=1',
        '+Environment=SGLANG_ENABLE_SPEC_V2=0 NCCL_P2P_DISABLE=1',
      ],
    ],
    [{ 'env.NEW': 'a b%' }, ['+Environment="NEW=a b%%"']],
    [{ 'env.ABSENT': null }, []],
  ])('%j changes its own assignment', (assignment, expected) => {
    const before = unitText('sglang-qwen.service');
    expect(changes(before, emit(before, assignment)[0])).toEqual(expected);
  });

  test('a variable that goes leaves no empty Environment=, which would reset the others', () => {
    const text = `[Service]\nEnvironment=A=1\nEnvironment=B=2\nExecStart=${LAUNCH}\n`;
    expect(emit(text, { 'env.B': null })[0]).toBe(text.replace('Environment=B=2\n', ''));
  });

  test('a variable that is set twice goes from both places', () => {
    const text = `[Service]\nEnvironment=A=1 C=3\nEnvironment=A=2\nExecStart=${LAUNCH}\n`;
    expect(emit(text, { 'env.A': null })[0]).toBe(
      `[Service]\nEnvironment=C=3\nExecStart=${LAUNCH}\n`,
    );
  });

  test('a new variable takes the place of the last one that goes', () => {
    const text = `[Service]\nEnvironment=A=1\nExecStart=${LAUNCH}\n`;
    expect(emit(text, { 'env.A': null, 'env.B': 2 })[0]).toBe(text.replace('A=1', 'B=2'));
  });

  test('a first variable stands in front of the command', () => {
    expect(emit(`[Service]\nExecStart=${LAUNCH}\n`, { 'env.A': 1 })[0]).toBe(
      `[Service]\nEnvironment=A=1\nExecStart=${LAUNCH}\n`,
    );
  });

  test('a variable used in the command changes the command with it', () => {
    const text = `[Service]\nEnvironment=TP=2\nExecStart=${LAUNCH} --tp-size \${TP}\n`;
    const launch = assignedLaunch(service(text), { 'env.TP': 4 }, help, {
      unitName: 'sglang.service',
    });
    expect(launch.argv.at(-1)).toBe('4');
    expect(launch.environment).toEqual({ TP: '4' });
  });

  test.each([
    ['EnvironmentFile=/f', /env.A is set by EnvironmentFile=\/f/],
    ['UnsetEnvironment=A', /taken away by UnsetEnvironment/],
  ])('is refused where %s has the last word', (line, message) => {
    const text = `[Service]\n${line}\nExecStart=${LAUNCH}\n`;
    expect(() => emit(text, { 'env.A': 1 }, { readEnvironmentFile: () => 'A=2' })).toThrow(message);
  });

  test('a variable of an env in the command changes there (U17)', () => {
    const before = unitText('prefixes.service');
    expect(emit(before, { 'env.NCCL_ALGO': 'Tree' })[0]).toBe(before.replace('Ring', 'Tree'));
  });
});
