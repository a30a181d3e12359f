import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/ranking/decide.ts';
import { type RankingInput, rankTrials } from '../../../src/ranking/rank-trials.ts';
import type { CellSample } from '../../../src/ranking/trial-data.ts';
import { createRandom } from '../../../src/simulator/random.ts';
import { profile, sample, trial } from './samples.ts';

const at16 = profile('16:1');

function rank(trials: RankingInput['trials'], over: Partial<RankingInput> = {}) {
  return rankTrials({ trials, profile: at16, scoreKind: 'relative', ...over });
}

/** Reasons of trial 1, which is compared with a baseline of 1000 tokens per second. */
function reasonsOf(samples: readonly CellSample[], over: Partial<RankingInput> = {}) {
  const ranking = rank([trial(0, { 16: 1000 }), trial(1, { 16: samples })], over);
  return ranking.trials.find((t) => t.trial === 1)?.reasons;
}

const launches = (...speeds: number[]) => speeds.map((s, i) => sample(s, { launchId: i }));
const repeats = (...speeds: number[]) => speeds.map((s) => sample(s));

describe('intervals', () => {
  test('several launches: Student t on log scores per launch, variance pooled', () => {
    const ranking = rank([
      trial(0, { 16: launches(100, 110) }),
      trial(1, { 16: launches(200, 210) }),
    ]);
    // Variances of the logs: (ln 1.1)^2 / 2 = 0.0045420, (ln 1.05)^2 / 2 = 0.0011903; pooled with
    // 2 degrees 0.0028661; error of the difference sqrt(0.0028661) = 0.053536; t(0.975, 2) = 4.3027.
    const half = 4.3027 * 0.053536;
    const estimate = Math.sqrt((200 * 210) / (100 * 110));
    const [low, high] = ranking.trials[0]?.scoreInterval ?? [];
    expect(ranking.evidence).toBe('between-launches');
    expect(low).toBeCloseTo(estimate * Math.exp(-half), 3);
    expect(high).toBeCloseTo(estimate * Math.exp(half), 3);
  });

  test('repeats in one launch give an interval that says so', () => {
    const ranking = rank([
      trial(0, { 16: repeats(100, 101, 99) }),
      trial(1, { 16: repeats(130, 131, 129) }),
    ]);
    expect(ranking.trials[0]?.evidence).toBe('within-launch');
    expect(ranking.trials[0]?.scoreInterval).not.toBeNull();
  });

  test('a trial measured once has none although the baseline was launched often', () => {
    const ranking = rank([trial(0, { 16: launches(100, 101, 99) }), trial(1, { 16: 150 })]);
    expect(ranking.trials.find((t) => t.trial === 1)).toMatchObject({
      scoreInterval: null,
      evidence: 'unreplicated',
    });
  });

  test('noise of the trials that stay in the running alone sets the intervals', () => {
    const ranking = rank([
      trial(0, { 16: launches(100, 101) }),
      trial(1, { 16: launches(120, 121) }),
      trial(2, { 16: launches(50, 500) }, { state: 'infeasible' }),
    ]);
    const [low = 0, high = 0] = ranking.trials[0]?.scoreInterval ?? [];
    expect(high - low).toBeLessThan(0.2);
  });
});

describe('ties', () => {
  test('a candidate inside the noise ties with the baseline, which leads', () => {
    const ranking = rank([
      trial(0, { 16: launches(100, 104, 96) }),
      trial(1, { 16: launches(101, 105, 97) }),
    ]);
    expect(ranking.trials.map((t) => [t.trial, t.tiedWith])).toEqual([
      [0, [1]],
      [1, [0]],
    ]);
    expect(decide(ranking)).toMatchObject({ kind: 'keep', isTie: true, runnerUp: { trial: 1 } });
  });

  test('of two winners that tie, the one with fewer changed parameters leads', () => {
    const ranking = rank([
      trial(0, { 16: launches(100, 101, 99) }),
      trial(1, { 16: launches(151, 152, 150) }, { assignment: { a: 1, b: 2 } }),
      trial(2, { 16: launches(150, 151, 149) }, { assignment: { a: 1 } }),
    ]);
    expect(ranking.trials.map((t) => t.trial)).toEqual([2, 1, 0]);
  });

  test('of two winners that tie with as many changes, the faster leads', () => {
    const ranking = rank([
      trial(0, { 16: launches(100, 101, 99) }),
      trial(1, { 16: launches(150, 151, 149) }),
      trial(2, { 16: launches(151, 152, 150) }),
    ]);
    expect(ranking.trials[0]?.trial).toBe(2);
  });

  test('5 % between single measurements is a tie, as launches differ by about 2 %', () => {
    expect(decide(rank([trial(0, { 16: 100 }), trial(1, { 16: 105 })])).kind).toBe('keep');
    expect(decide(rank([trial(0, { 16: 100 }), trial(1, { 16: 106 })])).kind).toBe('winner');
  });

  test('the best of forty single measurements has to be ahead by more than the best of one', () => {
    const rest = Array.from({ length: 39 }, (_, i) => trial(i + 2, { 16: 100 }));
    const of = (best: number) =>
      decide(rank([trial(0, { 16: 100 }), trial(1, { 16: best }), ...rest]));
    expect(of(108).kind).toBe('keep');
    expect(of(111).kind).toBe('winner');
  });

  test('of ten identical candidates launched once, none wins in 95 of 100 studies', () => {
    const random = createRandom(7);
    const noisy = () => 100 * Math.exp(0.02 * random.normal());
    const wins = Array.from({ length: 200 }, () => {
      const trials = Array.from({ length: 11 }, (_, i) => trial(i, { 16: noisy() }));
      return decide(rank(trials)).kind === 'winner' ? 1 : 0;
    });
    expect(wins.reduce<number>((sum, win) => sum + win, 0) / 200).toBeLessThanOrEqual(0.05);
  });
});

describe('decisions', () => {
  test('with nothing eligible nothing is feasible', () => {
    const limits = [
      { text: 'p99_ttft_ms <= 1', metric: 'p99_ttft_ms', operator: '<=', value: 1 } as const,
    ];
    const slow = { 16: [sample(100, { metrics: { p99_ttft_ms: 2 } })] };
    expect(decide(rank([trial(0, slow), trial(1, slow)], { limits })).kind).toBe(
      'nothing-feasible',
    );
  });

  test('a baseline that misses a limit is replaced even by a slower trial', () => {
    const limits = [
      { text: 'p99_ttft_ms <= 1', metric: 'p99_ttft_ms', operator: '<=', value: 1 } as const,
    ];
    const decision = decide(
      rank(
        [
          trial(0, { 16: [sample(100, { metrics: { p99_ttft_ms: 2 } })] }),
          trial(1, { 16: [sample(90, { metrics: { p99_ttft_ms: 0.5 } })] }),
        ],
        { limits },
      ),
    );
    expect(decision).toMatchObject({
      kind: 'winner',
      winner: { trial: 1 },
      baselineIneligible: [{ code: 'limit', value: 2 }],
    });
  });

  test('without a baseline the relative score is an error that names the way out', () => {
    expect(() => rank([trial(1, { 16: 100 })])).toThrow('the relative score needs a baseline');
  });

  test('without a baseline the time score still ranks', () => {
    const ranking = rank([trial(1, { 16: 100 }), trial(2, { 16: 200 })], { scoreKind: 'time' });
    expect(ranking.trials.map((t) => t.trial)).toEqual([2, 1]);
    expect(ranking.winnerByKind.relative).toBeNull();
  });
});

describe('eligibility', () => {
  test('a trial that died at a weighted concurrency is out, however fast below (A15)', () => {
    const ranking = rankTrials({
      trials: [
        trial(0, { 1: 100, 4: 300, 16: 900 }),
        trial(1, { 1: 130, 4: 390 }, { state: 'partial', crashedAt: [16], reason: 'crashed' }),
      ],
      profile: profile('1:0.2,4:0.3,16:0.5'),
      scoreKind: 'relative',
    });
    expect(ranking.trials[0]?.trial).toBe(0);
    expect(ranking.trials[1]?.reasons[0]).toMatchObject({ code: 'crashed', concurrency: 16 });
  });

  test('a crash in a repeat is one too, though every concurrency has a figure', () => {
    const ranking = rank([trial(0, { 16: 100 }), trial(1, { 16: 150 }, { state: 'partial' })]);
    expect(ranking.trials[1]?.reasons).toMatchObject([{ code: 'crashed', concurrency: null }]);
  });

  test('a crash at a concurrency without weight does not matter', () => {
    const ranking = rank([
      trial(0, { 16: 100, 64: 200 }),
      trial(1, { 16: 150 }, { state: 'partial', crashedAt: [64] }),
    ]);
    expect(ranking.trials[0]?.trial).toBe(1);
  });

  test('refused requests make no winner (C17)', () => {
    expect(reasonsOf([sample(2000, { metrics: { failure_fraction: 0.3 } })])).toEqual([
      { code: 'failed-requests', concurrency: 16, failureFraction: 0.3 },
    ]);
  });

  test('a measurement with a broken invariant is not ranked (C2)', () => {
    expect(reasonsOf([sample(2000, { barredBy: ['broken-invariant'] })])).toEqual([
      { code: 'barred', concurrency: 16, marks: ['broken-invariant'] },
    ]);
  });

  test('estimated tokens are not ranked as equals of counted ones (C3)', () => {
    expect(reasonsOf([sample(2000, { tokensFrom: 'estimated' })])).toEqual([
      { code: 'estimated-tokens', concurrency: 16 },
    ]);
  });

  test('a trial whose answers end early is not compared with one whose do not (C8)', () => {
    const full = sample(1000, { metrics: { short_fraction: 0, completed: 48 } });
    const early = sample(1500, {
      metrics: { short_fraction: 0.5, completed: 48 },
      shortFraction: 0.5,
    });
    const ranking = rank([trial(0, { 16: [full] }), trial(1, { 16: [early] })]);
    expect(ranking.trials[1]?.reasons).toEqual([
      { code: 'short-answers', shortFraction: 0.5, baselineShortFraction: 0 },
    ]);
  });

  test('one short answer of four is chance', () => {
    const of = (share: number) =>
      sample(1000, { metrics: { short_fraction: share, completed: 4 }, shortFraction: share });
    const ranking = rank([trial(0, { 16: [of(0)] }), trial(1, { 16: [of(0.25)] })]);
    expect(ranking.trials.flatMap((t) => t.reasons)).toEqual([]);
  });

  test('a limit whose metric was not measured is not met', () => {
    const limits = [
      { text: 'p99_ttft_ms <= 9', metric: 'p99_ttft_ms', operator: '<=', value: 9 } as const,
    ];
    expect(reasonsOf([sample(2000)], { limits })).toEqual([
      { code: 'limit-unknown', limit: 'p99_ttft_ms <= 9', concurrency: 16 },
    ]);
  });

  test('worst_concurrency refuses a trial that loses too much somewhere', () => {
    const ranking = rankTrials({
      trials: [trial(0, { 1: 100, 16: 1000 }), trial(1, { 1: 200, 16: 850 })],
      profile: profile('1:0.5,16:0.5'),
      scoreKind: 'relative',
      limits: [
        {
          text: 'worst_concurrency >= 0.9',
          metric: 'worst_concurrency',
          operator: '>=',
          value: 0.9,
        },
      ],
    });
    expect(ranking.trials[1]?.reasons).toEqual([
      { code: 'limit', limit: 'worst_concurrency >= 0.9', concurrency: 16, value: 0.85 },
    ]);
  });
});

describe('like with like', () => {
  test('where one trial has whole-run figures only, whole runs are compared for all', () => {
    const steady = sample(1200, { metrics: { whole_run_tokens_per_second: 1000 } });
    const wholeRun = sample(1100, { throughputKind: 'whole-run' });
    const ranking = rank([trial(0, { 16: [steady] }), trial(1, { 16: [wholeRun] })]);
    expect(ranking.trials[0]).toMatchObject({ trial: 1 });
    expect(ranking.trials[0]?.score).toBeCloseTo(1.1, 10);
    expect(ranking.notes).toContainEqual({ code: 'whole-run', concurrencies: [16] });
  });
});
