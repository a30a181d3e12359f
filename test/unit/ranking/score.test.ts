import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkProfile, profileText, withWeight } from '../../../src/ranking/profile.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { logScore, scoreKinds, sensitivity } from '../../../src/ranking/score.ts';
import { profile, trial } from './samples.ts';

const CONCURRENCIES = [1, 4, 16, 64];
const speeds = fc
  .array(fc.double({ min: 1, max: 1e5, noNaN: true }), { minLength: 4, maxLength: 4 })
  .map((values) => new Map(CONCURRENCIES.map((c, i) => [c, values[i] ?? 1])));
const weights = fc
  .array(fc.integer({ min: 1, max: 100 }), { minLength: 4, maxLength: 4 })
  .map((parts) => {
    const sum = parts.reduce((a, b) => a + b);
    return new Map(CONCURRENCIES.map((c, i) => [c, (parts[i] ?? 0) / sum]));
  });
const kind = fc.constantFrom(...scoreKinds);

describe('scores', () => {
  test('a server that is k times as fast everywhere scores k times as much', () => {
    fc.assert(
      fc.property(
        kind,
        weights,
        speeds,
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (k, w, s, f) => {
          const faster = new Map([...s].map(([c, speed]) => [c, speed * f]));
          const gain = (logScore(k, w, faster) ?? 0) - (logScore(k, w, s) ?? 0);
          expect(gain).toBeCloseTo(Math.log(f), 8);
        },
      ),
    );
  });

  test('lie between the slowest and the fastest concurrency', () => {
    fc.assert(
      fc.property(kind, weights, speeds, (k, w, s) => {
        const score = Math.exp(logScore(k, w, s) ?? Number.NaN);
        expect(score).toBeGreaterThanOrEqual(Math.min(...s.values()) * (1 - 1e-9));
        expect(score).toBeLessThanOrEqual(Math.max(...s.values()) * (1 + 1e-9));
      }),
    );
  });

  test('are ordered: tokens <= relative mean <= time', () => {
    fc.assert(
      fc.property(weights, speeds, (w, s) => {
        const [relative = 0, time = 0, tokens = 0] = scoreKinds.map((k) => logScore(k, w, s) ?? 0);
        expect(tokens).toBeLessThanOrEqual(relative + 1e-9);
        expect(relative).toBeLessThanOrEqual(time + 1e-9);
      }),
    );
  });

  test('have sensitivities that sum to 1 and match a small change of one speed', () => {
    fc.assert(
      fc.property(kind, weights, speeds, fc.constantFrom(...CONCURRENCIES), (k, w, s, c) => {
        const shares = sensitivity(k, w, s);
        const step = 1e-6;
        const moved = new Map(s).set(c, (s.get(c) ?? 0) * Math.exp(step));
        const slope = ((logScore(k, w, moved) ?? 0) - (logScore(k, w, s) ?? 0)) / step;
        expect([...shares.values()].reduce((a, b) => a + b)).toBeCloseTo(1, 9);
        expect(slope).toBeCloseTo(shares.get(c) ?? Number.NaN, 3);
      }),
    );
  });

  test('do not exist where a weighted concurrency is not measured', () => {
    expect(logScore('relative', profile('1:0.5,4:0.5'), new Map([[1, 100]]))).toBeUndefined();
  });
});

describe('profiles', () => {
  test('weight moved to one concurrency leaves the others in proportion and the sum 1', () => {
    fc.assert(
      fc.property(weights, fc.double({ min: 0, max: 1, noNaN: true }), (w, u) => {
        const moved = withWeight(w, 64, u) ?? new Map<number, number>();
        expect([...moved.values()].reduce((a, b) => a + b)).toBeCloseTo(1, 9);
        expect(moved.get(64)).toBe(u);
        const before = (w.get(1) ?? 0) * (moved.get(4) ?? 0);
        expect(before).toBeCloseTo((w.get(4) ?? 0) * (moved.get(1) ?? 0), 9);
      }),
    );
  });

  test('weight cannot be moved when no other concurrency has any', () => {
    expect(withWeight(profile('16:1'), 16, 0.5)).toBeUndefined();
  });

  test('a weight of 0 at an unmeasured concurrency is no error', () => {
    expect(() => {
      checkProfile(profile('1:1,8:0'), new Set([1]));
    }).not.toThrow();
  });

  test('a study without a profile is an error that asks for one', () => {
    expect(() => {
      checkProfile(new Map(), new Set([1]));
    }).toThrow('the study has no profile');
  });

  test('are shown as the command line takes them', () => {
    expect(profileText(profile('1:0.5,4:0.3,16:0.2'))).toBe('1:0.5,4:0.3,16:0.2');
  });
});

describe('rankings', () => {
  test('put every trial in exactly one place, ranks without a gap', () => {
    const studies = fc.array(speeds, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(studies, weights, kind, (all, w, k) => {
        const trials = all.map((s, i) => trial(i, Object.fromEntries(s)));
        const ranking = rankTrials({ trials, profile: w, scoreKind: k });
        expect(ranking.trials.map((t) => t.rank)).toEqual(all.map((_, i) => i + 1));
        expect(new Set(ranking.trials.map((t) => t.trial)).size).toBe(all.length);
      }),
    );
  });

  test('have symmetric ties', () => {
    const studies = fc.array(speeds, { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(studies, weights, (all, w) => {
        const trials = all.map((s, i) => trial(i, Object.fromEntries(s)));
        const ranked = rankTrials({ trials, profile: w, scoreKind: 'relative' }).trials;
        const ties = new Map(ranked.map((t) => [t.trial, t.tiedWith]));
        for (const [a, others] of ties) for (const b of others) expect(ties.get(b)).toContain(a);
      }),
    );
  });
});
