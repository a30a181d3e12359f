import { describe, expect, test } from 'vitest';
import { allRules } from '../../../src/sglang/rules/all-rules.ts';
import { ResolutionRecording } from '../../helpers/resolution-recording.ts';

/**
 * Recorded by test/real/record_resolution.py. The rules were corrected on others than `second`
 * and `wide`: those two say how well they predict what they have not seen.
 */
const recordings = ['first', 'second', 'wide'].map((name) => ({
  name,
  recording: new ResolutionRecording(
    new URL(`../../fixtures/resolution/random-0.5.23-${name}.jsonl.gz`, import.meta.url),
  ),
}));

const classes = ['legal', 'rewritten', 'illegal'] as const;

describe.each(recordings)('ten thousand random combinations ($name seed)', ({ recording }) => {
  test('the recording is of SGLang 0.5.23 and holds ten thousand, at least a fifth of each class', () => {
    expect(recording.header.sglang).toBe('0.5.23');
    expect(recording.rows).toHaveLength(10_000);
    for (const cls of classes)
      expect(recording.ofClass(cls).length, cls).toBeGreaterThanOrEqual(2000);
  });

  test.each(classes)('at most one in a hundred %s combinations is predicted otherwise', (cls) => {
    const wrong = recording.mismatches(cls);
    const share = wrong.length / recording.ofClass(cls).length;
    expect(share, wrong.slice(0, 12).join('\n')).toBeLessThanOrEqual(0.01);
  });

  test('nearly every refusal is laid to the very line of SGLang that refuses', () => {
    const refused = recording.ofClass('illegal').map(({ prediction: { ruleId }, row }) => {
      const source = allRules.find(({ id }) => id === ruleId)?.source;
      return { source: source?.split('/').at(-1), raised: row.error?.split(' ')[0] };
    });
    const elsewhere = refused.filter(({ source, raised }) => source !== raised);
    expect(elsewhere.length / refused.length, JSON.stringify(elsewhere.slice(0, 5))).toBeLessThan(
      0.01,
    );
  });
});

test('the seeds are different', () => {
  expect(new Set(recordings.map(({ recording }) => recording.header.seed)).size).toBe(3);
});
