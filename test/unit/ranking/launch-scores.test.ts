import { expect, test } from 'vitest';
import { launchScores } from '../../../src/ranking/launch-scores.ts';
import { cellsOf, commonKinds } from '../../../src/ranking/speeds.ts';
import { profile, sample, trial } from './samples.ts';

const PROFILE = profile('1:0.5,8:0.5');

function scoresOf(speeds: Parameters<typeof trial>[1]) {
  const one = trial(1, speeds);
  return launchScores('relative', PROFILE, cellsOf(one, commonKinds([one])));
}

test('a round that two launches measured in pieces counts as one launch, numbered as its last', () => {
  const scores = scoresOf({
    1: [sample(100, { launchId: 3, round: 0 })],
    8: [sample(400, { launchId: 5, round: 0 })],
  });
  expect(scores).toMatchObject([{ launch: 5, round: 0 }]);
  expect(scores[0]?.logScore).toBeCloseTo(Math.log(200), 12);
});

test('pieces of two rounds are no launch', () => {
  const scores = scoresOf({
    1: [sample(100, { launchId: 3, round: 0 })],
    8: [sample(400, { launchId: 5, round: 1000 })],
  });
  expect(scores).toEqual([]);
});

test('a launch that measured everything stands for itself', () => {
  const scores = scoresOf({
    1: [sample(100, { launchId: 3 }), sample(121, { launchId: 5 })],
    8: [sample(400, { launchId: 3 }), sample(400, { launchId: 5 })],
  });
  expect(scores.map(({ launch }) => launch)).toEqual([3, 5]);
});
