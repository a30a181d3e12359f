import { describe, expect, test } from 'vitest';
import { effectsOf } from '../../../src/ranking/effects.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { profile, trial } from './samples.ts';

/** Two flags: the first brings 2 % alone and -1 % with the second, which brings 20 %. */
function ranking() {
  const speeds = { '': 1000, a: 1020, b: 1200, ab: 1188 };
  const trials = Object.entries(speeds).map(([on, speed], number) =>
    trial(number, { 16: speed }, { assignment: { a: on.includes('a'), b: on.includes('b') } }),
  );
  return rankTrials({ trials, profile: profile('16:1'), scoreKind: 'relative' });
}

describe('effects', () => {
  test('tell what a value does alone', () => {
    const b = effectsOf(ranking()).mains.find(({ parameter }) => parameter === 'b');
    expect(b?.change).toBeCloseTo(0.2, 1);
    expect(b?.low).toBeGreaterThan(0.1);
    expect(b?.high).toBeLessThan(0.3);
  });

  test('have intervals that hold the truth of an interaction', () => {
    const { mains } = effectsOf(ranking());
    const a = mains.find(({ parameter }) => parameter === 'a');
    expect(a?.low).toBeLessThan(0.02);
    expect(a?.high).toBeGreaterThan(0.02);
  });

  test('tell an interaction that twelve trials show', () => {
    const trials = Array.from({ length: 16 }, (_, number) => {
      const [a, b] = [(number & 1) === 1, (number & 2) === 2];
      const log = (a ? 0.05 : 0) + (b ? 0.1 : 0) - (a && b ? 0.12 : 0);
      const assignment = { a, b, c: (number & 4) === 4, d: (number & 8) === 8 };
      return trial(number, { 16: 1000 * Math.exp(log) }, { assignment });
    });
    const ranked = rankTrials({ trials, profile: profile('16:1'), scoreKind: 'relative' });
    const [first] = effectsOf(ranked).interactions;
    expect([first?.parameter, first?.withParameter]).toEqual(['a', 'b']);
    expect(first?.alone.change).toBeGreaterThan(0.02);
    expect(first?.together.change).toBeLessThan(-0.02);
  });

  test('are absent without a baseline to compare with', () => {
    const ranked = rankTrials({
      trials: [trial(1, { 16: 1 }), trial(2, { 16: 2 })],
      profile: profile('16:1'),
      scoreKind: 'time',
    });
    expect(effectsOf(ranked).mains).toEqual([]);
  });
});
