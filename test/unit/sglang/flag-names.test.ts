import { describe, expect, test } from 'vitest';
import { lookupFlag, requireFlag } from '../../../src/sglang/flag-names.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';

const help = sglangHelp('0.5.23');

function found(name: string): string | undefined {
  const lookup = lookupFlag(name, help);
  return lookup.kind === 'known' ? lookup.flag.name : undefined;
}

describe('lookupFlag', () => {
  test.each([
    ['tp-size', 'tp-size'],
    ['tensor-parallel-size', 'tp-size'],
    ['tp', 'tp-size'],
    ['model', 'model-path'],
    ['mem-frac', 'mem-fraction-static'],
    ['speculative-algo', 'speculative-algorithm'],
    ['disable-overlap', 'disable-overlap-schedule'],
    ['max-running', 'max-running-requests'],
    ['ep', 'ep-size'],
  ])('takes --%s for --%s', (name, canonical) => {
    expect(found(name)).toBe(canonical);
  });

  test('a prefix of several flags is ambiguous', () => {
    const lookup = lookupFlag('speculative-num', help);
    expect(lookup).toMatchObject({
      kind: 'ambiguous',
      candidates: ['speculative-num-steps', 'speculative-num-draft-tokens'],
    });
  });

  test('underscores are unknown to SGLang itself', () => {
    expect(lookupFlag('max_running_requests', help)).toEqual({
      kind: 'unknown',
      nearest: 'max-running-requests',
    });
  });

  test('a prefix of the off form alone is the off form', () => {
    expect(lookupFlag('no-enable-tf32', help)).toMatchObject({ kind: 'known', negated: true });
  });

  test('an old name that the version still accepts is hidden', () => {
    expect(lookupFlag('mamba-scheduler-strategy', help, '0.5.16')).toMatchObject({
      kind: 'hidden',
      certain: true,
      flag: { name: 'mamba-radix-cache-strategy' },
    });
  });

  test.each(['0.5.20', '0.5.23', '0.6'])('an old name is retired in %s', (version) => {
    expect(lookupFlag('cuda-graph-max-bs', help, version)).toMatchObject({
      kind: 'retired',
      replacement: '--cuda-graph-max-bs-decode',
    });
  });

  test('an old name may be accepted when the version is unknown', () => {
    expect(lookupFlag('stream-output', help)).toMatchObject({ kind: 'hidden', certain: false });
  });

  test('an old name is the flag itself in a version that knows no other', () => {
    expect(lookupFlag('cuda-graph-max-bs', sglangHelp('0.5.10'), '0.5.10')).toMatchObject({
      kind: 'known',
      by: 'name',
    });
  });

  test('the new name points to the old one in a version before the change', () => {
    expect(lookupFlag('mamba-radix-cache-strategy', sglangHelp('0.5.10'))).toEqual({
      kind: 'unknown',
      nearest: 'mamba-scheduler-strategy',
    });
  });
});

describe('requireFlag', () => {
  test('accepts dashes and underscores as a study writes them', () => {
    expect(requireFlag('--max_running_requests', help).name).toBe('max-running-requests');
  });

  test.each([
    ['max-runing-requests', /Did you mean --max-running-requests/],
    ['enable-piecewise-cuda-graph', /became the default/],
    ['speculative-num', /--speculative-num-steps, --speculative-num-draft-tokens/],
    ['zzzz', /nightsweep flags lists/],
  ])('refuses %s with what to write instead', (name, hint) => {
    expect(() => requireFlag(name, help, '0.5.23')).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(hint) as string }),
    );
  });
});
