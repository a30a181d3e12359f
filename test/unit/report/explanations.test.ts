import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LIMIT_METRICS } from '../../../src/config/limits.ts';
import { CAUSE_EXPLANATIONS, METRIC_EXPLANATIONS } from '../../../src/report/explanations.ts';
import { failureSignatures } from '../../../src/sglang/failure-signatures.ts';

const SOURCE = new URL('../../../src/sglang/failure-causes.ts', import.meta.url);

describe('explanations', () => {
  test('there is one for every cause in the table of known failures', () => {
    const codes = failureSignatures.map(({ code }) => code);
    expect(codes.filter((code) => !(code in CAUSE_EXPLANATIONS))).toEqual([]);
  });

  test('there is one for every cause that the classifier itself names', () => {
    const source = readFileSync(SOURCE, 'utf8');
    const codes = [...source.matchAll(/verdict\(\s*'([a-z-]+)'/g)].map((match) => match[1] ?? '');
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !(code in CAUSE_EXPLANATIONS))).toEqual([]);
  });

  test('there is one for every metric that a limit may name', () => {
    const plain = [...LIMIT_METRICS.keys()].map((name) =>
      name.replace(/^(?:mean|median|max|p\d+)_/, ''),
    );
    expect(plain.filter((name) => !(name in METRIC_EXPLANATIONS))).toEqual([]);
  });
});
