import { describe, expect, test } from 'vitest';
import { parseStudy } from '../../../src/config/load-study.ts';
import type { WorkloadConfig } from '../../../src/config/study.ts';
import {
  arrivalsText,
  pauseSeconds,
  pointRequests,
  pointWorkload,
} from '../../../src/study/point-workload.ts';

function workloadOf(text: string): WorkloadConfig {
  const study = `study: s\ntarget: {command: [server]}\nprofile: {1: 1}\nparameters: {page-size: [1]}\nworkload: {${text}}\n`;
  return parseStudy(study, 'study.yaml').workload;
}

describe('a workload at one concurrency', () => {
  test('of an open loop has as many users as that', () => {
    const workload = workloadOf('arrivals: {rate: 0.5, process: constant}, seed: 7');
    expect(pointWorkload(workload, 16).arrivals).toStrictEqual({
      kind: 'open',
      requestsPerSecond: 8,
      process: 'constant',
      seed: 7,
    });
    // A minute of 8 requests per second.
    expect(pointRequests(workload, 16)).toBe(480);
    expect(pauseSeconds(workload, 16)).toBe(60);
  });

  test('of sessions has every turn of as many sessions as there would be requests', () => {
    const workload = workloadOf('prompts: agentic, session: {turns: 3, pause: 4s}');
    expect(pointRequests(workload, 16)).toBe(96);
    expect(pauseSeconds(workload, 16)).toBe(24);
  });

  test('of a closed loop waits only to think', () => {
    expect(pauseSeconds(workloadOf(''), 16)).toBe(0);
    // Two waves at 16 in flight.
    expect(pauseSeconds(workloadOf('think_time: 3s'), 16)).toBe(6);
  });
});

test('an open loop says its rate, its process and from when latencies count', () => {
  const { arrivals } = workloadOf('arrivals: {rate: 0.2, process: gamma, burstiness: 0.5}');
  expect(arrivals && arrivalsText(arrivals)).toBe(
    'open loop, gamma (burstiness 0.5), 0.2 requests/s of each user, timed from when a request was due',
  );
});
