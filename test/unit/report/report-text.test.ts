import { expect, test } from 'vitest';
import { rankTrials } from '../../../src/ranking/rank-trials.ts';
import { signedPercent } from '../../../src/report/figures.ts';
import { markText } from '../../../src/report/marks.ts';
import { rankingReport } from '../../../src/report/ranking-report.ts';
import { sample, trial } from '../ranking/samples.ts';

const profile = new Map([[16, 1]]);

function report(...trials: ReturnType<typeof trial>[]): string {
  const ranking = rankTrials({ trials, profile, scoreKind: 'relative' });
  return rankingReport({ study: 'x', ranking, points: [] }, { color: false });
}

test('no significant win reads "keep what you have" and names the tie', () => {
  const text = report(trial(0, { 16: 100 }), trial(1, { 16: 101 }));
  expect(text).toContain('trial 0 ties with trial 1');
  expect(text).toContain('keep what you have: no significant win');
});

test('a trial that is out is listed with its reason', () => {
  const failing = [sample(500, { metrics: { failure_fraction: 0.3 } })];
  expect(report(trial(0, { 16: 100 }), trial(1, { 16: failing }))).toContain(
    'trial 1 is out: 30 % of the requests failed at C=16',
  );
});

test('single measurements are called unreplicated', () => {
  expect(report(trial(0, { 16: 100 }), trial(1, { 16: 150 }))).toContain('+50.0 %  unreplicated');
});

test('a mark of a server bound below the concurrency says at how many', () => {
  const { text } = markText({ code: 'server-bound', facts: { decodingConcurrency: 24.1 } });
  expect(text).toBe('bound by the server at about 24');
});

test.each([
  [0.083, '+8.3 %'],
  [-0.324, '-32.4 %'],
  [-0.0001, '0.0 %'],
])('a change of %f reads %s', (fraction, text) => {
  expect(signedPercent(fraction)).toBe(text);
});
