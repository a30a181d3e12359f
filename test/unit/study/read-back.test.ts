import { describe, expect, test } from 'vitest';
import { scriptedSweep } from '../../helpers/scripted-sweep.ts';

/** A server that runs at most so many requests, whatever is asked. */
const limitedTo =
  (limit: number) =>
  ({ 'max-running-requests': asked }: Readonly<Record<string, unknown>>) => ({
    internal_states: [
      {
        effective_max_running_requests_per_dp: Math.min(
          typeof asked === 'number' ? asked : 4096,
          limit,
        ),
      },
    ],
  });

describe('a value that the server does not run', () => {
  test('is no candidate: the trial is ineligible with asked and running value, and is not measured', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'max-running-requests': [16, 128], 'schedule-policy': ['fcfs'] },
      production: ['--max-running-requests', '16'],
      reports: limitedTo(50),
      speed: ({ 'max-running-requests': asked }) => Number(asked),
    });
    expect(sweep.trialOf({ 'max-running-requests': 128 })).toBe(
      '1 infeasible value-not-in-force: max-running-requests 128 runs as 50, as the server itself reports',
    );
    const ranking = sweep.ranking();
    expect(ranking.trials.filter(({ eligible }) => eligible).map(({ trial }) => trial)).toEqual([
      0,
    ]);
  });

  test('is shown as the same as the trial that ran that configuration before', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'max-running-requests': [50, 96, 128] },
      production: ['--max-running-requests', '50'],
      reports: limitedTo(50),
    });
    expect(sweep.trials).toEqual([
      '0 completed',
      '1 skipped equivalent: same as trial 0, as the server reports',
      '2 skipped equivalent: same as trial 0, as the server reports',
    ]);
  });

  test('is laid to a later trial that asks for what runs', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'max-running-requests': [128, 50] },
      production: ['--max-running-requests', '16'],
      reports: limitedTo(50),
    });
    expect(sweep.trialOf({ 'max-running-requests': 50 })).toBe('2 completed');
    expect(sweep.trialOf({ 'max-running-requests': 128 })).toBe(
      '1 skipped equivalent: same as trial 2, as the server reports',
    );
  });

  test('costs one start: higher limits are inferred not to be granted either', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'max-running-requests': [16, 96, 128, 192] },
      production: ['--max-running-requests', '16'],
      reports: limitedTo(50),
    });
    expect(sweep.launches).toHaveLength(2);
    expect(sweep.trialOf({ 'max-running-requests': 192 })).toBe(
      '3 skipped value-not-in-force: inferred: max-running-requests 96 was too high in trial 1',
    );
  });

  test('of production itself bars no trial that keeps it', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'max-running-requests': [128], 'schedule-policy': ['fcfs', 'lpm'] },
      production: ['--max-running-requests', '128'],
      reports: limitedTo(50),
    });
    expect(sweep.trialOf({ 'schedule-policy': 'lpm' })).toBe('1 completed');
  });
});

test('both values of a variable that the server ignores are the same server as production (B8)', async () => {
  const sweep = await scriptedSweep({
    parameters: { 'env.SPEC_SWITCH': ['0', '1'] },
    log: (environment) =>
      environment['SPEC_SWITCH'] === undefined
        ? []
        : ['WARNING: SPEC_SWITCH has been removed: it is ignored'],
  });
  expect(sweep.trials.slice(1)).toEqual([
    '1 skipped equivalent: same as trial 0, as the server reports',
    '2 skipped equivalent: same as trial 0, as the server reports',
  ]);
  const [, launch] = sweep.store.launches(sweep.studyId);
  expect(launch?.effective).toMatchObject({
    values: { 'env.SPEC_SWITCH': { asked: '0', took: 'no' } },
  });
});

describe('equivalence is confirmed by what servers report', () => {
  const speculation = {
    'speculative-num-steps': [3],
    'speculative-eagle-topk': [1],
    'speculative-num-draft-tokens': [4, 8],
  };
  const production = [
    ...['--speculative-algorithm', 'NEXTN', '--speculative-num-steps', '1'],
    ...['--speculative-eagle-topk', '1', '--speculative-num-draft-tokens', '2'],
  ];
  const asPredicted = (flags: Readonly<Record<string, unknown>>) => ({
    speculative_num_draft_tokens: Number(flags['speculative-num-steps']) + 1,
    speculative_algorithm: 'EAGLE',
    max_running_requests: 48,
  });

  test('a prediction that holds costs no launch', async () => {
    const sweep = await scriptedSweep({
      parameters: speculation,
      production,
      reports: asPredicted,
    });
    expect(sweep.launches).toHaveLength(2);
    expect(sweep.trialOf({ 'speculative-num-draft-tokens': 8 })).toBe(
      '2 skipped equivalent: same as trial 1',
    );
  });

  test('a trial that was predicted to be the same is launched on its own once a server differs', async () => {
    const reports = (flags: Readonly<Record<string, unknown>>) => ({
      ...asPredicted(flags),
      // A version that verifies one more than is asked at three steps.
      ...(flags['speculative-num-steps'] === 3 && {
        speculative_num_draft_tokens: Number(flags['speculative-num-draft-tokens']) + 1,
      }),
    });
    const sweep = await scriptedSweep({ parameters: speculation, production, reports });
    expect(sweep.launches.map((flags) => flags['speculative-num-draft-tokens'])).toEqual([2, 4, 8]);
    const notices = sweep.events.flatMap((event) => (event.type === 'notice' ? event.text : []));
    expect(notices.join('\n')).toContain(
      'speculative-num-draft-tokens 5 (predicted 4): trials taken for the same server are launched on their own: 2',
    );
  });

  test('an interrupted sweep remembers what servers corrected', async () => {
    const reports = limitedTo(50);
    const parameters = { 'max-running-requests': [50, 128] };
    const production = ['--max-running-requests', '50'];
    const first = await scriptedSweep({ parameters, production, reports });
    const again = await scriptedSweep({ parameters, production, reports, store: first.store });
    expect(again.launches).toHaveLength(0);
    expect(again.trials).toEqual(first.trials);
  });
});

describe('the version', () => {
  test('is learned from the first server where the program does not say it before', async () => {
    const sweep = await scriptedSweep({
      parameters: { 'schedule-policy': ['lpm'] },
      version: null,
      reports: () => ({ version: '0.5.23' }),
    });
    expect(sweep.store.findStudy('scripted')?.sglangVersion).toBe('0.5.23');
  });

  test('that changes between two resumes is a refusal (B10)', async () => {
    const parameters = { 'schedule-policy': ['lpm'] };
    const first = await scriptedSweep({ parameters, reports: () => ({ version: '0.5.23' }) });
    await expect(
      scriptedSweep({ parameters, version: '0.5.24', store: first.store }),
    ).rejects.toThrow('SGLang version: 0.5.23 -> 0.5.24');
  });

  test('that changes under a running sweep ends it (B10)', async () => {
    let launches = 0;
    const reports = () => {
      launches += 1;
      return { version: launches > 1 ? '0.5.24' : '0.5.23' };
    };
    await expect(
      scriptedSweep({ parameters: { 'schedule-policy': ['lpm'] }, reports }),
    ).rejects.toThrow(
      'was measured with SGLang 0.5.23, but the server that was started runs 0.5.24',
    );
  });
});

describe('the server that answers', () => {
  test('has a name of its own at each launch but the baseline', async () => {
    const sweep = await scriptedSweep({ parameters: { 'schedule-policy': ['lpm', 'lof'] } });
    const names = sweep.launches.map((flags) => flags['weight-version']);
    expect(names[0]).toBeUndefined();
    expect(names.slice(1)).toEqual([
      expect.stringMatching(/^nightsweep-[0-9a-f]{8}-0002$/),
      expect.stringMatching(/^nightsweep-[0-9a-f]{8}-0003$/),
    ]);
    const assignments = sweep.store.trials(sweep.studyId).map(({ assignment }) => assignment);
    expect(JSON.stringify(assignments)).not.toContain('weight-version');
  });

  test.each([
    ['name', { weight_version: 'default' }, 'calls itself "default"'],
    [
      'launch command',
      { launch_command: '--model-path /m --tp-size 4', tp_size: 4 },
      'was started with other flags (--',
    ],
  ])('is a stranger by its %s: nothing is measured', async (_, said, message) => {
    const isBaseline = (flags: Readonly<Record<string, unknown>>) =>
      flags['schedule-policy'] === undefined;
    const sweep = await scriptedSweep({
      parameters: { 'schedule-policy': [null, 'lpm'] },
      reports: (flags) => (isBaseline(flags) ? {} : said),
    });
    expect(sweep.trialOf({ 'schedule-policy': 'lpm' })).toContain('failed foreign-server');
    expect(sweep.trialOf({ 'schedule-policy': 'lpm' })).toContain(message);
  });
});
