import { expect, test } from 'vitest';
import {
  parseCount,
  parseFraction,
  parseSeconds,
  parseTimeOfDay,
} from '../../../src/config/quantities.ts';

test.each([
  { written: '90s', seconds: 90 },
  { written: '5m', seconds: 300 },
  { written: '1h 30m', seconds: 5400 },
  { written: '1h30m', seconds: 5400 },
  { written: '500ms', seconds: 0.5 },
  { written: '1.5h', seconds: 5400 },
  { written: '1d', seconds: 86_400 },
  { written: 1800, seconds: 1800 },
  { written: '1800', seconds: 1800 },
  { written: '5 minutes', seconds: undefined },
  { written: '-5m', seconds: undefined },
  { written: '', seconds: undefined },
  { written: Number.NaN, seconds: undefined },
])('the duration $written is $seconds seconds', ({ written, seconds }) => {
  expect(parseSeconds(written)).toBe(seconds);
});

test.each([
  { written: '3%', fraction: 0.03 },
  { written: '0.9', fraction: 0.9 },
  { written: 0.03, fraction: 0.03 },
  { written: '90 %', fraction: 0.9 },
  { written: '3 percent', fraction: undefined },
])('the share $written is $fraction', ({ written, fraction }) => {
  expect(parseFraction(written)).toBe(fraction);
});

test.each([
  { written: 1000, count: 1000 },
  { written: '8k', count: 8000 },
  { written: '8Ki', count: 8192 },
  { written: '1.5k', count: 1500 },
  { written: '1M', count: 1_000_000 },
  { written: 1.5, count: undefined },
  { written: '0.3', count: undefined },
  { written: '8K', count: undefined },
])('the count $written is $count', ({ written, count }) => {
  expect(parseCount(written)).toBe(count);
});

test.each([
  { written: '07:00', time: '07:00' },
  { written: '7:05', time: '07:05' },
  { written: '24:00', time: undefined },
  { written: '07:60', time: undefined },
  { written: '7', time: undefined },
])('the time of day $written is $time', ({ written, time }) => {
  expect(parseTimeOfDay(written)).toBe(time);
});
