import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Assignment } from '../../src/search-space/assignment.ts';
import { emitDropIn, renderDropIn } from '../../src/service-file/drop-in.ts';
import { emitUnit } from '../../src/service-file/emit-unit.ts';
import { sglangHelp } from '../helpers/sglang-help.ts';
import { service, unitText } from '../helpers/unit-fixture.ts';

const help = sglangHelp('0.5.10');
const ANALYZER = 'systemd-analyze';
const options = { unitName: 'sglang.service' };
const HOSTILE = [
  '{"a": "50%", "b": "$x"}',
  `it's "so"`,
  'back\\slash',
  '',
  ';',
  '#x',
  '%n',
  `\${HOME}`,
  '$HOME',
  'a\tb',
  '{}[]~*|>&`é',
];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightsweep-unit-'));
  chmodSync(folder, 0o755);
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** What systemd-analyze says of a unit with a drop-in, line numbers and folder left out. */
async function complaints(unit: string, dropIn?: string): Promise<Set<string>> {
  const own = mkdtempSync(join(folder, 'verify-'));
  writeFileSync(join(own, 'sglang.service'), unit);
  if (dropIn !== undefined) {
    mkdirSync(join(own, 'sglang.service.d'));
    writeFileSync(join(own, 'sglang.service.d', 'zzzz.conf'), dropIn);
  }
  const { stderr, stdout } = await execa(
    ANALYZER,
    ['verify', '--man=no', join(own, 'sglang.service')],
    { reject: false, env: { SYSTEMD_UNIT_PATH: `${own}:` } },
  );
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line !== '');
  return new Set(lines.map((line) => line.replaceAll(own, '').replace(/:\d+:/, ':')));
}

/**
 * What systemd itself makes of a unit: the words of the command as it prints them (variables not
 * yet expanded) and the environment. `--test` reads the units and starts nothing; it refuses to run as root.
 */
async function systemdReads(unit: string): Promise<{ command: string; environment: string[] }> {
  writeFileSync(join(folder, 'sglang.service'), unit);
  const runtime = join(folder, 'runtime');
  mkdirSync(runtime, { mode: 0o777 });
  chmodSync(runtime, 0o777);
  const asNobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const { stdout, stderr } = await execa(
    '/lib/systemd/systemd',
    ['--test', '--user', '--unit=sglang.service'],
    {
      reject: false,
      ...asNobody,
      env: { XDG_RUNTIME_DIR: runtime, SYSTEMD_UNIT_PATH: `${folder}:`, HOME: runtime },
      extendEnv: false,
    },
  );
  const output = `${stdout}\n${stderr}`;
  const at = output.indexOf('-> Unit sglang.service');
  const own = output.slice(at).split('-> Unit ', 2)[1] ?? '';
  return {
    command: /Command Line: (.*)/.exec(own)?.[1] ?? output.slice(-400),
    environment: [...own.matchAll(/^\s*Environment: (.*)$/gm)].map(([, text = '']) => text),
  };
}

/** Words as systemd prints a command line: quoted where needed, `$` and backslash escaped. */
function printed(words: readonly string[]): string {
  return words
    .map((word) => word.replaceAll('\t', '\\t'))
    .map((word) =>
      /^[^\s"'\\`$(){}[\]*?|&;<>~!]+$/.test(word)
        ? word
        : `"${word.replace(/["$`]|\\(?!t)/g, '\\$&')}"`,
    )
    .join(' ');
}

const CASES: [string, Assignment][] = [
  [
    'sglang-qwen.service',
    {
      'speculative-num-steps': 3,
      'max-running-requests': 96,
      'enable-mixed-chunk': true,
      'env.NCCL_ALGO': 'Tree',
      'env.NEW': 'a "b" %',
    },
  ],
  ['sglang-qwen.service', { 'mamba-scheduler-strategy': null, 'env.NCCL_PROTO': null }],
  [
    'one-flag-per-line.service',
    { 'json-model-override-args': '{"a": "50%", "b": "$x"}', port: null },
  ],
  ['quoted-list.service', { 'context-length': 8192, 'env.HF_HOME': null }],
  ['comments-inside.service', { 'cuda-graph-bs': [1, 2], 'json-model-override-args': null }],
  ['args-from-file.service', { 'tp-size': 4 }],
  ['literal-path.service', { 'served-model-name': "it's" }],
];

describe('systemd-analyze verify', () => {
  test.each(CASES)(
    'finds nothing in the unit from %s with %j that it does not find before',
    async (name, assignment) => {
      const before = unitText(name);
      const after = emitUnit(service(before), assignment, help, options).files[0]?.text ?? '';
      const known = await complaints(before);
      const found = await complaints(after);
      expect([...found].filter((line) => !known.has(line))).toEqual([]);
      expect(after).not.toBe(before);
    },
  );

  test.each(CASES)('finds nothing in the drop-in for %s with %j', async (name, assignment) => {
    const unit = unitText(name);
    const dropIn = emitDropIn(service(unit), assignment, help, options);
    const known = await complaints(unit);
    const found = await complaints(unit, dropIn);
    expect([...found].filter((line) => !known.has(line))).toEqual([]);
  });

  test('would complain of a drop-in without the reset', async () => {
    const unit = unitText('sglang-qwen.service');
    const dropIn = '[Service]\nExecStart=/bin/true\n';
    expect([...(await complaints(unit, dropIn))].join('\n')).toMatch(/more than one ExecStart/);
  });
});

describe('systemd itself', () => {
  test('reads the words of a drop-in as they were meant', async () => {
    const argv = ['/bin/echo', ...HOSTILE];
    const { command } = await systemdReads(renderDropIn({ argv }));
    // Variables are expanded at the start only: a dollar still stands doubled here.
    expect(command).toBe(printed(argv.map((word) => word.replaceAll('$', '$$$$'))));
  });

  test('reads the variables of a drop-in as they were meant', async () => {
    const environment = new Map(HOSTILE.map((value, i) => [`V${i}`, value]));
    const read = await systemdReads(renderDropIn({ argv: ['/bin/echo'], environment }));
    expect(read.environment).toEqual(HOSTILE.map((value, i) => `V${i}=${value}`));
  });

  test.each([
    'sglang-qwen',
    'one-flag-per-line',
    'comments-inside',
    'blank-after-backslash',
    'quoted-list',
  ])('reads the command of %s as we do', async (name) => {
    // The program need not exist, but its folder is checked for being absolute only.
    const text = unitText(`${name}.service`).replace(/^User=.*\n/m, '');
    const read = service(text);
    const { command, environment } = await systemdReads(text);
    expect(command).toBe(printed(read.argv));
    expect(environment).toEqual(
      Object.entries(read.environment).map(([key, value]) => `${key}=${value}`),
    );
  });
});
