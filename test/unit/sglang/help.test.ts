import { describe, expect, test } from 'vitest';
import { type FlagHelp, parseHelp } from '../../../src/sglang/help.ts';
import { HELP_VERSIONS, helpText, sglangHelp } from '../../helpers/sglang-help.ts';

/** Long spellings per version as counted by SGLang's own parser, `--help` included. */
const SPELLINGS = { '0.4.9': 173, '0.5.2': 219, '0.5.10': 366, '0.5.20': 515, '0.5.23': 561 };

function flag(version: (typeof HELP_VERSIONS)[number], name: string): FlagHelp | undefined {
  return sglangHelp(version).flags.find((found) => found.name === name);
}

describe('parseHelp', () => {
  test.each(HELP_VERSIONS)('finds every spelling of SGLang %s', (version) => {
    const spellings = sglangHelp(version).flags.flatMap(({ name, aliases, negation }) => [
      name,
      ...aliases,
      ...(negation === undefined ? [] : [negation]),
    ]);
    const long = spellings.filter((name) => name.length > 1);
    expect(new Set(long).size).toBe(SPELLINGS[version]);
    expect(long).toHaveLength(SPELLINGS[version]);
  });

  test.each(HELP_VERSIONS)('names every usage flag of %s in its list of flags', (version) => {
    const text = helpText(version);
    const usage = text.slice(0, text.indexOf('\noptions:'));
    const used = [...usage.matchAll(/\[?--([a-z0-9-]+)/g)].map(([, name]) => name);
    const known = sglangHelp(version).flags.flatMap(({ name, aliases, negation }) => [
      name,
      ...aliases,
      negation,
    ]);
    expect(used.length).toBeGreaterThan(100);
    expect(used.filter((name) => !known.includes(name))).toEqual([]);
  });

  test.each(HELP_VERSIONS)(
    'calls tensor parallelism tp-size, as server_info does, in %s',
    (version) => {
      expect(flag(version, 'tp-size')?.aliases).toContain('tensor-parallel-size');
    },
  );

  test('reads choices in order', () => {
    expect(flag('0.5.23', 'radix-eviction-policy')?.choices).toEqual(
      'lru lfu slru priority tlru'.split(' '),
    );
  });

  test.each([
    ['max-running-requests', 'one', 'integer'],
    ['mem-fraction-static', 'one', 'number'],
    ['enable-mixed-chunk', 'nothing', 'boolean'],
    ['cuda-graph-bs-decode', 'many', 'integer'],
    ['lora-paths', 'many', 'string'],
    ['model-checksum', 'optional', 'string'],
    ['cuda-graph-config', 'one', 'json'],
    ['speculative-algorithm', 'one', 'string'],
  ])('--%s takes %s value of type %s', (name, takes, type) => {
    expect(flag('0.5.23', name)).toMatchObject({ takes, type });
  });

  test('knows the off form of a flag that has one', () => {
    expect(flag('0.5.23', 'enable-tf32-matmul')).toMatchObject({
      negation: 'no-enable-tf32-matmul',
      takes: 'nothing',
      aliases: [],
    });
  });

  test('unwraps the description, also where it was cut behind a hyphen', () => {
    expect(flag('0.5.23', 'context-length')?.summary).toContain('Suffixes are case-sensitive.');
  });

  test('a renamed flag that help shows under both names is one flag', () => {
    const both = [
      'usage: sglang serve [-h]',
      '',
      'options:',
      '  --mamba-radix-cache-strategy {auto,no_buffer}',
      '                        Strategy.',
      '  --mamba-scheduler-strategy MAMBA_RADIX_CACHE_STRATEGY',
      '                        Deprecated alias for --mamba-radix-cache-strategy.',
    ].join('\n');
    expect(parseHelp(both).flags.map(({ name, aliases }) => [name, aliases])).toEqual([
      ['mamba-radix-cache-strategy', ['mamba-scheduler-strategy']],
    ]);
  });

  test("reads Python 3.13's form, which shows the value once", () => {
    const help = parseHelp('usage: x [-h]\n\noptions:\n  --tp-size, --tp TP  Ranks.\n');
    expect(help.flags[0]).toMatchObject({ name: 'tp-size', aliases: ['tp'], takes: 'one' });
  });

  test('skips lines that a program prints before its help', () => {
    expect(parseHelp(`WARNING: no GPU\n${helpText('0.5.10')}`)).toEqual(sglangHelp('0.5.10'));
  });

  test('names the error when the text is a traceback', () => {
    const text =
      'Traceback (most recent call last):\n  File "x"\nModuleNotFoundError: No module named sglang\n';
    expect(() => parseHelp(text)).toThrow(/no "usage:" line.*No module named sglang/);
  });

  test.each([
    ['', /it is empty/],
    ['usage: tar [OPTION...]\n', /lists no flags/],
  ])('refuses %j', (text, message) => {
    expect(() => parseHelp(text)).toThrow(message);
  });
});
