import { expect, test } from 'vitest';
import { parseMarker } from '../../../src/server/run-marker.ts';

test('a marker names its owner by pid and start', () => {
  expect(parseMarker('4242-72182-0a1b2c3d')?.owner).toEqual({ pid: 4242, startTicks: 72182 });
});

test.each(['', '1', '4242-72182', '4242-72182-xyz', 'a4242-72182-0a1b2c3d', '-1-1-0a1b2c3d'])(
  '"%s" is no marker of ours',
  (value) => {
    expect(parseMarker(value)).toBeUndefined();
  },
);
