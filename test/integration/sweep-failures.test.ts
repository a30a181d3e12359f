import { describe, expect, test } from 'vitest';
import {
  type ChaosOptions,
  type ChaoticSweep,
  chaoticSweep,
} from '../../bench/chaos/chaotic-sweep.ts';
import { FAILURES } from '../../bench/chaos/failures.ts';

/** A sweep of a baseline and three trials, each with this failure. */
function sweepWith(
  name: string,
  options: Pick<ChaosOptions, 'parameters'> = {},
): Promise<ChaoticSweep> {
  const failures = FAILURES.filter((failure) => failure.name === name);
  return chaoticSweep({ seed: 3, failureFraction: 1, failures, ...options });
}

function trialsOf({ trials }: ChaoticSweep): string[] {
  return trials.filter(({ isBaseline }) => !isBaseline).map((t) => `${t.state} ${String(t.cause)}`);
}

function launchesOf({ events }: ChaoticSweep): number {
  return events.filter(({ type }) => type === 'launch-started').length;
}

describe('a start that fails', () => {
  test('once for a port in use is tried again and costs nothing else (A16)', async () => {
    const sweep = await sweepWith('port taken at one start');
    expect(trialsOf(sweep)).toEqual(Array(3).fill('completed null'));
    expect(launchesOf(sweep)).toBe(1 + 3 * 2);
  });

  test('for a port in use in three trials in a row stops the sweep: the rest would fail too', async () => {
    const sweep = await sweepWith('port taken at every start');
    expect(sweep.end).toBe('broken-environment');
  });
});

describe('a server under load', () => {
  test('whose scheduler dies ends the point with that cause, and the sweep goes on (A7)', async () => {
    const sweep = await sweepWith('scheduler dies under load');
    expect(trialsOf(sweep)).toEqual(Array(3).fill('partial process-killed'));
    expect(sweep.end).toBe('finished');
  });

  test('that hangs ends the trial and not the sweep (B14)', async () => {
    const sweep = await sweepWith('hangs under load');
    for (const trial of trialsOf(sweep)) expect(trial).toMatch(/^partial /);
    expect(sweep.end).toBe('finished');
  });

  test('that something restarts is a crash, never a number from two servers (A19)', async () => {
    const sweep = await sweepWith('restarts behind the sweep');
    expect(trialsOf(sweep)).toEqual(Array(3).fill('partial restarted'));
  });

  test('that others use as well is measured by no trial', async () => {
    const parameters = { 'schedule-policy': ['fcfs', 'lpm'] };
    const sweep = await sweepWith('other clients', { parameters });
    expect(trialsOf(sweep)).toContain('failed foreign-requests');
    expect(sweep.measurements.every(({ trialId }) => trialId === sweep.trials[0]?.id)).toBe(true);
  }, 90_000);
});

test('a machine that refuses to start a server costs the trial, not the sweep', async () => {
  const parameters = { 'speculative-num-steps': [1, 2], 'max-running-requests': [null] };
  const sweep = await sweepWith('start refused by the machine', { parameters });
  expect(trialsOf(sweep)).toContain('failed error');
  expect(sweep.end).toBe('finished');
});

test('a stop that fails over a broken link ends the sweep, and each launch keeps the record of its end', async () => {
  const sweep = await sweepWith('link that breaks during the stop');
  expect(sweep.end).toBe('the server could not be stopped: the link broke');
  expect(sweep.openLaunches).toBe(0);
});

test('a server that cannot be stopped ends the sweep at once, with what is left named (D14)', async () => {
  const sweep = await sweepWith('process that never ends');
  expect(sweep.end).toBe('the server could not be stopped: pid 4242 left');
  expect(launchesOf(sweep)).toBe(2);
});
