import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Assignment } from '../../../src/search-space/assignment.ts';
import { applyAssignment } from '../../../src/sglang/apply-assignment.ts';
import {
  lastOccurrence,
  parseLaunchArgs,
  replaceProgram,
} from '../../../src/sglang/launch-args.ts';
import { findLaunchProgram } from '../../../src/sglang/launch-program.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';

const help = sglangHelp('0.5.23');
const PROGRAM = ['/opt/x/python3', '-m', 'sglang.launch_server'];

function parse(flags: string): ReturnType<typeof parseLaunchArgs> {
  return parseLaunchArgs([...PROGRAM, ...flags.split(' ')], help, { version: '0.5.23' });
}

function apply(flags: string, assignment: Assignment): string {
  const argv = [...PROGRAM, ...flags.split(' ')];
  const applied = applyAssignment(argv, assignment, help, { version: '0.5.23' });
  return applied.argv.slice(PROGRAM.length).join(' ');
}

describe('findLaunchProgram', () => {
  test.each([
    ['/opt/x/python3 -m sglang.launch_server --port 1', 3],
    ['python3 -u -m sglang.launch_server', 4],
    ['sglang serve --port 1', 2],
    ['/opt/x/bin/sglang serve', 2],
    ['python3 /src/sglang/launch_server.py --port 1', 2],
    ['env A=1 B=2 taskset -c 0-3 python3 -m sglang.launch_server', 9],
    ['numactl --cpunodebind=0 nice -n 5 python3 -m sglang.launch_server', 8],
    ['node dist/cli/main.js simulate --port 1', 3],
    ['nightsweep simulate', 2],
  ])('finds where the flags of "%s" begin', (command, end) => {
    expect(findLaunchProgram(command.split(' '))?.end).toBe(end);
  });

  test.each([
    'docker run --rm image python3 -m sglang.launch_server --port 1',
    '/usr/bin/podman run image sglang serve',
    'bash run.sh',
    'python3 -m vllm.entrypoints.api_server --model-path launch_server.py',
  ])('finds none in "%s"', (command) => {
    expect(findLaunchProgram(command.split(' '))).toBeUndefined();
  });
});

/** Command lines and what Python 3.11's argparse made of them, given the flags of 0.5.23's help. */
const cases = JSON.parse(
  readFileSync(new URL('../../fixtures/help/argparse-0.5.23.json', import.meta.url), 'utf8'),
) as { words: string[]; read: [name: string, values: string[], negated: boolean][] | null }[];

describe('against argparse', () => {
  test('reads what argparse reads, and finds fault where it does', () => {
    const wrong = cases.filter(({ words, read }) => {
      const { flags, problems } = parseLaunchArgs(['sglang', 'serve', ...words], help, {
        version: '0.5.23',
      });
      const faults = problems.filter(
        ({ code }) => code !== 'repeated-flag' && code !== 'config-file',
      );
      if (read === null) return faults.length === 0;
      const mine = flags.map(({ name, values, negated }) => [name, values, negated]);
      return faults.length > 0 || JSON.stringify(mine) !== JSON.stringify(read);
    });
    expect(cases.filter(({ read }) => read !== null).length).toBeGreaterThan(150);
    expect(cases.filter(({ read }) => read === null).length).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });
});

describe('parseLaunchArgs', () => {
  test('gives canonical names and values, whatever the spelling', () => {
    const { flags, problems } = parse(
      '--tp 4 --mem-frac=0.7 --cuda-graph-bs-decode 1 2 4 --disable-overlap',
    );
    expect(flags.map(({ name, values }) => [name, ...values])).toEqual([
      ['tp-size', '4'],
      ['mem-fraction-static', '0.7'],
      ['cuda-graph-bs-decode', '1', '2', '4'],
      ['disable-overlap-schedule'],
    ]);
    expect(problems).toEqual([]);
  });

  test('takes a negative number for a value', () => {
    expect(parse('--chunked-prefill-size -1 --port 2').flags[0]?.values).toEqual(['-1']);
  });

  test('the last of a repeated flag counts, and it is reported', () => {
    const args = parse('--mem-frac 0.7 --port 1 --mem-fraction-static 0.8');
    expect(lastOccurrence(args, 'mem-fraction-static')?.values).toEqual(['0.8']);
    expect(args.problems).toEqual([{ code: 'repeated-flag', name: 'mem-fraction-static' }]);
  });

  test.each([
    ['--enable-mixed-chunk true', { code: 'stray-word', word: 'true' }],
    ['--enable-mixed-chunk=true', { code: 'unexpected-value', spelled: '--enable-mixed-chunk' }],
    [
      '--max-running-requests --port 1',
      { code: 'missing-value', spelled: '--max-running-requests' },
    ],
    [
      '--page-size big',
      {
        code: 'bad-value',
        spelled: '--page-size',
        value: 'big',
        expected: 'must be a whole number',
      },
    ],
    ['--speculative-num 1', { code: 'ambiguous-flag', spelled: '--speculative-num' }],
    ['--max_running_requests 1', { code: 'unknown-flag', nearest: 'max-running-requests' }],
    ['--cuda-graph-max-bs 8', { code: 'retired-flag', replacement: '--cuda-graph-max-bs-decode' }],
    ['--config serve.yaml', { code: 'config-file', file: 'serve.yaml' }],
    ['-tp 4', { code: 'unknown-flag', spelled: '-tp' }],
  ])('reports %s', (flags, problem) => {
    expect(parse(flags).problems[0]).toMatchObject(problem);
  });

  test('keeps the values of a flag it does not know together with it', () => {
    expect(parse('--later-flag a b --port 1').flags[0]).toMatchObject({
      name: 'later-flag',
      values: ['a', 'b'],
    });
  });

  test.each(['16k', '1.5M', '1Ki', '4096', '1_000'])(
    'accepts %s where SGLang reads suffixes',
    (value) => {
      expect(parse(`--context-length ${value}`).problems).toEqual([]);
    },
  );

  test.each([
    ['docker run x python3 -m sglang.launch_server', /inside the container/],
    ['bash -lc serve', /the shell runs/],
    ['/srv/run.sh', /the script ends in/],
  ])('refuses "%s" and says what to give instead', (command, hint) => {
    expect(() => parseLaunchArgs(command.split(' '), help)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(hint) as string }),
    );
  });
});

describe('replaceProgram', () => {
  test('keeps the flags alone', () => {
    const argv = ['env', 'A=1', ...PROGRAM, '--port', '1'];
    expect(replaceProgram(argv, ['node', 'main.js', 'simulate'])).toEqual([
      'node',
      'main.js',
      'simulate',
      '--port',
      '1',
    ]);
  });
});

describe('applyAssignment', () => {
  test('a flag under another name is replaced, not repeated (U19)', () => {
    expect(apply('--mem-frac 0.7 --port 1', { 'mem-fraction-static': 0.8 })).toBe(
      '--mem-fraction-static 0.8 --port 1',
    );
  });

  test.each([
    ['--tp 4 --port 1', { 'tp-size': 8 }, '--tp-size 8 --port 1'],
    [
      '--mem-frac=0.7 --port 1',
      { 'mem-fraction-static': 0.8 },
      '--mem-fraction-static=0.8 --port 1',
    ],
    [
      '--mem-frac 0.7 --port 1 --mem-fraction-static 0.8',
      { 'mem-fraction-static': 0.9 },
      '--port 1 --mem-fraction-static 0.9',
    ],
    ['--cuda-graph-max-bs 8', { 'cuda-graph-max-bs-decode': 16 }, '--cuda-graph-max-bs-decode 16'],
    [
      '--cuda-graph-bs-decode 1 2 4 --port 1',
      { 'cuda-graph-bs-decode': [8, 16] },
      '--cuda-graph-bs-decode 8 16 --port 1',
    ],
    ['--disable-overlap --port 1', { 'disable-overlap-schedule': false }, '--port 1'],
    [
      '--port 1',
      { 'enable-mixed-chunk': true, 'page-size': 64 },
      '--port 1 --enable-mixed-chunk --page-size 64',
    ],
    [
      '--enable-tf32-matmul --port 1',
      { 'enable-tf32-matmul': false },
      '--no-enable-tf32-matmul --port 1',
    ],
    ['--no-enable-tf32-matmul --port 1', { 'enable-tf32-matmul': null }, '--port 1'],
  ] as const)('%s with %j becomes %s', (flags, assignment, expected) => {
    expect(apply(flags, assignment)).toBe(expected);
  });

  test.each([
    ['--tp 4 --port 1', { 'tp-size': 4 }],
    ['--mem-frac 0.70 --port 1', { 'mem-fraction-static': 0.7 }],
    ['--port 1', { 'page-size': null, 'enable-mixed-chunk': false }],
  ])('%s keeps its words when it already says %j', (flags, assignment) => {
    expect(apply(flags, assignment)).toBe(flags);
  });

  test('JSON is one word', () => {
    const json = '{"a": "50%", "b": "$x"}';
    const { argv } = applyAssignment(PROGRAM, { 'json-model-override-args': json }, help);
    expect(argv.slice(3)).toEqual(['--json-model-override-args', json]);
  });

  test('a value that looks like a flag is joined to its flag', () => {
    const { argv } = applyAssignment(PROGRAM, { 'served-model-name': '-x' }, help);
    expect(argv.slice(3)).toEqual(['--served-model-name=-x']);
  });

  test.each([
    [{ 'schedule-policy': 'fastest' }, /must be one of lpm, random, fcfs/],
    [{ 'max-running-requests': 'many' }, /must be a whole number/],
    [{ 'max-running-requests': true }, /needs a value/],
    [{ 'enable-mixed-chunk': 1 }, /use true \(present\) or false \(absent\)/],
    [{ 'page-size': [1, 2] }, /takes one value/],
    [{ tp: 2, 'tensor-parallel-size': 4 }, /are the same flag, --tp-size/],
    [{ 'max-runing-requests': 4 }, /has no flag "max-runing-requests"/],
  ])('refuses %j', (assignment, message) => {
    expect(() => applyAssignment(PROGRAM, assignment, help)).toThrow(message);
  });

  test('changes the variable of an env in front of the program', () => {
    const argv = ['env', 'A=1', ...PROGRAM];
    expect(applyAssignment(argv, { 'env.A': '2' }, help).argv).toEqual(['env', 'A=2', ...PROGRAM]);
  });

  test('a swept flag stands once and has the last word, whatever stood before', () => {
    const spellings = [
      '--mem-frac 0.5',
      '--mem-fraction-static=0.6',
      '--tp 2',
      '--tensor-parallel-size 4',
      '--enable-mixed-chunk',
      '--cuda-graph-bs-decode 1 2',
      '--unknown x y',
      '--cuda-graph-max-bs 8',
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...spellings), { maxLength: 8 }),
        fc.constantFrom(null, 0.7),
        fc.constantFrom(null, 8),
        fc.constantFrom(null, true, false),
        (words, fraction, tp, mixed) => {
          const argv = [...PROGRAM, ...words.flatMap((word) => word.split(' '))];
          const assignment = {
            'mem-fraction-static': fraction,
            'tp-size': tp,
            'enable-mixed-chunk': mixed,
          };
          const { flags } = parseLaunchArgs(applyAssignment(argv, assignment, help).argv, help);
          const values = (name: string): string[][] =>
            flags.filter((flag) => flag.name === name).map((flag) => [...flag.values]);
          expect(values('mem-fraction-static')).toEqual(fraction === null ? [] : [['0.7']]);
          expect(values('tp-size')).toEqual(tp === null ? [] : [['8']]);
          expect(values('enable-mixed-chunk')).toEqual(mixed === true ? [[]] : []);
          const others = parseLaunchArgs(argv, help).flags.filter(({ name }) => name === 'unknown');
          expect(values('unknown')).toHaveLength(others.length);
        },
      ),
    );
  });
});
