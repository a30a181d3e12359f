import { describe, expect, test } from 'vitest';
import type { Launch } from '../../../src/simulator/launch.ts';
import { prepareLaunch } from '../../../src/simulator/launch.ts';

function launchOf(argv: string): Launch {
  const prepared = prepareLaunch(['--model-path', '/m', ...argv.split(' ')], {}, 1);
  if (prepared.state === 'exit') throw new Error(prepared.stderr);
  return prepared.launch;
}

function exitOf(argv: string): { code: number; lastLine: string | undefined } {
  const prepared = prepareLaunch(['--model-path', '/m', ...argv.split(' ')], {}, 1);
  if (prepared.state === 'launch') throw new Error('accepted');
  return { code: prepared.code, lastLine: prepared.stderr.trimEnd().split('\n').at(-1) };
}

describe('speculation resolves as SGLang resolves it', () => {
  test.each([
    { argv: '--speculative-algorithm nextn', want: [3, 1, 4] },
    {
      argv: '--speculative-algorithm NEXTN --speculative-num-steps 2 --speculative-eagle-topk 1',
      want: [2, 1, 3],
    },
    {
      argv: '--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8',
      want: [3, 1, 4],
    },
    {
      argv: '--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8',
      want: [3, 4, 8],
    },
  ])('$argv gives $want', ({ argv, want }) => {
    const { fields } = launchOf(argv);
    expect([
      fields['speculative_num_steps'],
      fields['speculative_eagle_topk'],
      fields['speculative_num_draft_tokens'],
    ]).toEqual(want);
  });

  test('NEXTN is shown as EAGLE with 48 running requests', () => {
    const { fields } = launchOf('--speculative-algorithm NEXTN');
    expect(fields['speculative_algorithm']).toBe('EAGLE');
    expect(fields['max_running_requests']).toBe(48);
  });
});

describe('arguments that SGLang raises on exit 1 with a traceback', () => {
  test.each([
    {
      argv: '--speculative-algorithm NEXTN --speculative-num-steps 2',
      want: "TypeError: '>' not supported between instances of 'NoneType' and 'int'",
    },
    { argv: '--speculative-algorithm NEXTN --speculative-eagle-topk 2', want: 'AssertionError' },
    {
      argv: '--speculative-algorithm MAGIC',
      want: 'ValueError: Unknown speculative algorithm name: MAGIC',
    },
    {
      argv: '--page-size 16 --chunked-prefill-size 100',
      want: 'AssertionError: chunked_prefill_size must be divisible by page_size',
    },
    { argv: '--page-size 0', want: 'ZeroDivisionError: integer modulo by zero' },
  ])('$argv', ({ argv, want }) => {
    expect(exitOf(argv)).toEqual({ code: 1, lastLine: want });
  });
});

describe('the running limit', () => {
  const unit =
    '--tp 4 --mem-fraction-static 0.85 --speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-eagle-topk 1 --mamba-scheduler-strategy extra_buffer';

  function limitOf(argv: string): number | undefined {
    const { memory } = launchOf(argv);
    return memory.state === 'fits' ? memory.capacity.maxRunningRequests : undefined;
  }

  test('is reduced below the 48 of the reference unit by its state slots', () => {
    const { memory } = launchOf(unit);
    expect(memory).toMatchObject({
      state: 'fits',
      capacity: { requestedMaxRunningRequests: 48, maxRunningRequests: 29 },
    });
  });

  test('is kept when it is lower than what fits', () => {
    expect(limitOf(`${unit} --max-running-requests 16`)).toBe(16);
  });

  test('shrinks with more draft tokens', () => {
    const deeper = unit.replace('--speculative-num-steps 1', '--speculative-num-steps 3');
    expect(limitOf(deeper)).toBeLessThan(29);
  });

  test('leaves no memory below the weights', () => {
    expect(launchOf('--mem-fraction-static 0.5').memory.state).toBe('fails');
  });
});

test('launches differ unless a seed pins them', () => {
  const factor = (argv: string[], fresh: number): number | undefined => {
    const prepared = prepareLaunch(['--model-path', '/m', ...argv], {}, fresh);
    return prepared.state === 'launch' ? prepared.launch.launchFactor : undefined;
  };
  expect(factor([], 1)).not.toBe(factor([], 2));
  expect(factor(['--sim-seed', '5'], 1)).toBe(factor(['--sim-seed', '5'], 2));
  expect(factor(['--random-seed', '5'], 1)).toBe(factor(['--random-seed', '5'], 2));
});

test('a mistake in a simulator switch names the switch and its value', () => {
  expect(() => prepareLaunch(['--model-path', '/m', '--sim-freeze', '2'], {}, 1)).toThrow(
    '--sim-freeze 2 is not a number from 0 to 1',
  );
  expect(() => prepareLaunch(['--model-path', '/m', '--sim-nope'], {}, 1)).toThrow(
    'unknown simulator switch --sim-nope',
  );
});
