import { describe, expect, test } from 'vitest';
import { speedCrossings, weightCrossovers } from '../../../src/ranking/crossovers.ts';
import { decide } from '../../../src/ranking/decide.ts';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import type { RankedTrial, Ranking } from '../../../src/ranking/ranking.ts';
import type { ScoreKind } from '../../../src/ranking/score.ts';
import { MTP, NO_MTP, profile, trial } from './samples.ts';

const trials = [trial(0, NO_MTP), trial(1, MTP)];
const FLAT = '1:0.2,4:0.2,16:0.2,32:0.2,64:0.1,128:0.1';

function rank(text: string, scoreKind: ScoreKind = 'relative'): Ranking {
  return rankTrials({ trials, profile: profile(text), scoreKind });
}

function row(ranking: Ranking, number: number): RankedTrial {
  const found = ranking.trials.find((ranked) => ranked.trial === number);
  if (found === undefined) throw new Error(`no trial ${number}`);
  return found;
}

describe('the reference case', () => {
  test('few in flight: MTP wins with 1.252 of the throughput without it', () => {
    const ranking = rank('1:0.5,4:0.3,16:0.2');
    expect(ranking.trials[0]?.trial).toBe(1);
    expect(row(ranking, 1).score).toBeCloseTo(1.252, 3);
    expect(decide(ranking)).toMatchObject({ kind: 'winner', winner: { trial: 1 } });
  });

  test('many in flight: the service without MTP stays, MTP has 0.628 of its throughput', () => {
    const ranking = rank('64:0.5,128:0.5');
    expect(row(ranking, 1).score).toBeCloseTo(0.628, 3);
    expect(decide(ranking)).toMatchObject({ kind: 'keep', isTie: false });
  });

  test('a flat profile: relative and tokens prefer MTP, time prefers none, and it is said', () => {
    const ranking = rank(FLAT);
    const [without, withMtp] = [row(ranking, 0).scoreByKind, row(ranking, 1).scoreByKind];
    expect(withMtp.relative).toBeCloseTo(1.0865, 4);
    expect([withMtp.tokens, without.tokens].map((v) => v?.toFixed(1))).toEqual(['389.3', '332.7']);
    expect([withMtp.time, without.time].map((v) => v?.toFixed(1))).toEqual(['967.2', '1037.9']);
    expect(ranking.winnerByKind).toEqual({ relative: 1, time: 0, tokens: 1 });
    expect(ranking.kindsDisagree).toBe(true);
  });

  test('weight moved to 64 changes the relative winner at 0.364 and the time winner at 0.125', () => {
    const at64 = weightCrossovers(rank('1:0.5,4:0.3,16:0.2')).filter((c) => c.concurrency === 64);
    const weights = at64.map((c) => [c.scoreKind, c.weight.toFixed(3), c.below, c.above]);
    expect(weights).toContainEqual(['relative', '0.364', 1, 0]);
    expect(weights).toContainEqual(['time', '0.125', 1, 0]);
  });

  test('the speeds cross between 32 and 64 in flight', () => {
    const ranking = rank(FLAT);
    const [crossing, ...others] = speedCrossings(row(ranking, 1), row(ranking, 0));
    expect(others).toEqual([]);
    expect(crossing).toMatchObject({ below: 1, above: 0, between: [32, 64] });
    // ln(1502/1359) = 0.1000 and ln(1571/2327) = -0.3929: 32 * 2^(0.1000 / 0.4929) = 36.8
    expect(crossing?.concurrency).toBeCloseTo(36.8, 1);
  });

  test('single measurements have no interval', () => {
    const ranking = rank(FLAT);
    expect(ranking.trials.map((t) => [t.scoreInterval, t.evidence])).toEqual([
      [null, 'unreplicated'],
      [null, 'unreplicated'],
    ]);
  });
});

// Field report B16: speculation helps few requests and harms many.
describe('two configurations that win in different ranges (B16)', () => {
  const P = trial(1, { 1: 150, 16: 900, 64: 1500 });
  const Q = trial(0, { 1: 100, 16: 950, 64: 2200 });
  const ranked = (text: string) =>
    rankTrials({ trials: [Q, P], profile: profile(text), scoreKind: 'relative' });

  test('mostly one request: P wins', () => {
    expect(ranked('1:0.8,16:0.1,64:0.1').trials[0]?.trial).toBe(1);
  });

  test('mostly 64 requests: Q wins', () => {
    expect(ranked('1:0.1,16:0.1,64:0.8').trials[0]?.trial).toBe(0);
  });

  test('the weight at which the winner changes is known', () => {
    // A = (.8 ln 1.5 + .1 ln(900/950)) / .9 = 0.35440, B = ln(1500/2200) = -0.38299
    const found = weightCrossovers(ranked('1:0.8,16:0.1,64:0.1')).find(
      (c) => c.scoreKind === 'relative' && c.concurrency === 64,
    );
    expect(found).toMatchObject({ below: 1, above: 0, currentWeight: 0.1 });
    expect(found?.weight).toBeCloseTo(0.3544 / (0.3544 + 0.38299), 3);
  });

  test('weights that do not sum to 1 are an error', () => {
    expect(() => ranked('1:0.8,16:0.1')).toThrow('the weights sum to 0.9, not 1');
  });

  test('a weight at an unmeasured concurrency is an error that names those measured', () => {
    let hint: unknown;
    try {
      ranked('1:0.5,8:0.5');
    } catch (error) {
      hint = (error as { hint?: string }).hint;
    }
    expect(hint).toBe('measured concurrencies are 1, 16, 64');
  });
});
