import { expect, test } from 'vitest';
import { DEFAULT_WORKLOAD } from '../../../src/config/workload-section.ts';
import { rankingReport } from '../../../src/report/ranking-report.ts';
import { trialPoints } from '../../../src/report/study-points.ts';
import { withoutCacheVotes } from '../../../src/study/cache-judge.ts';
import type { Judge } from '../../../src/study/plan.ts';
import { scriptedSweep } from '../../helpers/scripted-sweep.ts';

const NEXTN = ['--speculative-algorithm', 'NEXTN'];

test('a limit of 48 under speculation stands beside the cells above it, the baseline of 4096 has none (B1)', async () => {
  const sweep = await scriptedSweep({
    parameters: { 'speculative-algorithm': [null, 'NEXTN'] },
    profile: { 1: 0.5, 64: 0.5 },
    reports: (flags) => {
      const limit = flags['speculative-algorithm'] === undefined ? 4096 : 48;
      return { internal_states: [{ effective_max_running_requests_per_dp: limit }] };
    },
  });
  const { store, studyId } = sweep;
  const measurements = store.measurements(studyId);
  const points = trialPoints(store.trials(studyId), measurements);
  const text = rankingReport(
    { study: 'scripted', ranking: sweep.ranking(), points },
    { color: false },
  );
  expect(text).toMatch(
    /trial 1, requests decoding at a time: .*\n {2}C=64: above the server's running limit of 48/,
  );
  expect(text).not.toContain('4096');
});

test('steps {2,3} x top-k 1 x draft tokens {3,4,8} are two launches and four aliases (B4)', async () => {
  const sweep = await scriptedSweep({
    parameters: {
      'speculative-num-steps': [2, 3],
      'speculative-eagle-topk': [1],
      'speculative-num-draft-tokens': [3, 4, 8],
    },
    production: NEXTN,
  });
  const [, ...launched] = sweep.launches;
  const numbers = launched.map((flags) => [
    flags['speculative-num-steps'],
    flags['speculative-num-draft-tokens'],
  ]);
  expect(numbers).toEqual([
    [2, 3],
    [3, 4],
  ]);
  const aliases = sweep.trials.filter((trial) => trial.includes('equivalent: same as trial'));
  expect(aliases).toHaveLength(4);
});

test('a server whose number no value of the study names is launched by the number that runs', async () => {
  const sweep = await scriptedSweep({
    parameters: {
      'speculative-num-steps': [2],
      'speculative-eagle-topk': [1],
      'speculative-num-draft-tokens': [4, 8],
    },
    production: NEXTN,
  });
  expect(sweep.launches.map((flags) => flags['speculative-num-draft-tokens'])).toEqual([
    undefined,
    3,
  ]);
  expect(sweep.trials.slice(2)).toEqual([
    '2 skipped equivalent: same as trial 1',
    '3 skipped equivalent: same as trial 1',
  ]);
});

test('one cause of a pair of values that no rule knows is tried twice, and inferred for the rest (B7)', async () => {
  const sweep = await scriptedSweep({
    parameters: {
      'speculative-eagle-topk': [1, 4],
      'page-size': [1, 64],
      'schedule-policy': ['fcfs', 'lpm', 'lof', 'random', 'dfs-weight', 'routing-key'],
    },
    version: null,
    fails: (flags) =>
      flags['speculative-eagle-topk'] === 4 && flags['page-size'] === 64
        ? [
            'Traceback (most recent call last):',
            '  File "/x/worker.py", line 7, in run',
            'RuntimeError: The size of tensor a (4) must match the size of tensor b (2)',
          ]
        : undefined,
  });
  const ends = (what: string) => sweep.trials.filter((trial) => trial.includes(what)).length;
  expect(ends(' infeasible ')).toBe(2);
  expect(ends(' inferred: ')).toBe(4);
  expect(sweep.trials.find((trial) => trial.includes(' inferred: '))).toContain(
    'speculative-eagle-topk 4 with page-size 64 failed in trials',
  );
  expect(ends(' completed')).toBe(1 + 18);
});

test('prompts that share nothing do not judge the prefix cache, however fast the server is without it (B11)', () => {
  const asIs: Judge = (assignment) => ({
    effectiveKey: JSON.stringify(assignment),
    notes: [],
    predicted: {},
  });
  const off = { 'disable-radix-cache': true };
  const judged = (workload: typeof DEFAULT_WORKLOAD) =>
    withoutCacheVotes(asIs, { 'disable-radix-cache': false }, workload)(off);
  expect(judged(DEFAULT_WORKLOAD).illegal).toMatchObject({ by: 'workload' });
  expect(judged(DEFAULT_WORKLOAD).illegal?.reason).toContain('share no prefix');
  const shared = { ...DEFAULT_WORKLOAD, sharedPrefixFraction: 0.6 };
  expect(judged(shared).illegal).toBeUndefined();
  const own = { ...DEFAULT_WORKLOAD, prompts: '/srv/prompts.jsonl' };
  expect(judged(own).illegal).toBeUndefined();
});

test('a value for capability 10.x is skipped on 12.0, with the constraint that says so (B15)', async () => {
  const sweep = await scriptedSweep({
    parameters: { 'attention-backend': ['triton', 'trtllm_mha'] },
    production: ['--attention-backend', 'triton'],
    constraints: [
      {
        when: { 'attention-backend': 'trtllm_mha' },
        require: { 'gpu.capability': ['10.0', '10.3'] },
      },
    ],
    context: { gpuName: 'NVIDIA RTX PRO 6000 Blackwell', gpuCapability: '12.0', device: 'cuda' },
  });
  expect(sweep.launches).toHaveLength(1);
  const [skipped] = sweep.plan.skipped;
  expect(skipped).toMatchObject({ by: 'constraint', count: 1 });
  expect(skipped?.rule).toContain('10.0');
});

test('a memory fraction that runs out under the highest load is not recommended, though the fastest at one request (D10)', async () => {
  const sweep = await scriptedSweep({
    parameters: { 'mem-fraction-static': [0.85, 0.92] },
    production: ['--mem-fraction-static', '0.85'],
    profile: { 1: 0.7, 32: 0.3 },
    speed: (flags) => (flags['mem-fraction-static'] === 0.92 ? 150 : 100),
    diesAt: (flags) => (flags['mem-fraction-static'] === 0.92 ? 32 : undefined),
  });
  expect(sweep.trialOf({ 'mem-fraction-static': 0.92 })).toContain('partial out-of-memory');
  const eligible = sweep.ranking().trials.filter((trial) => trial.eligible);
  expect(eligible.map(({ trial }) => trial)).toEqual([0]);
});

test('each of the 48 points of a speculative grid is launched, the same as another, or illegal with its reason', async () => {
  const sweep = await scriptedSweep({
    parameters: {
      'speculative-num-steps': [1, 2, 3, 5],
      'speculative-eagle-topk': [1, 2, 4],
      'speculative-num-draft-tokens': [2, 4, 6, 8],
    },
    production: NEXTN,
    context: { modelArchitecture: 'Qwen3_5MoeForConditionalGeneration', device: 'cuda' },
    // What SGLang 0.5.23 makes of them.
    reports: (flags) => ({
      speculative_algorithm: 'EAGLE',
      max_running_requests: 48,
      ...(flags['speculative-num-steps'] === undefined
        ? { speculative_num_steps: 3, speculative_eagle_topk: 1, speculative_num_draft_tokens: 4 }
        : flags['speculative-eagle-topk'] === 1 && {
            speculative_num_draft_tokens: Number(flags['speculative-num-steps']) + 1,
          }),
    }),
  });
  const points = sweep.store.trials(sweep.studyId).filter(({ assignment }) => {
    const draft = assignment['speculative-num-draft-tokens'];
    return assignment['speculative-num-steps'] !== null && Number(draft) % 2 === 0;
  });
  const count = (what: RegExp) => points.filter(({ reason }) => what.test(reason ?? '')).length;
  expect(points).toHaveLength(48);
  expect(count(/^$/)).toBe(28);
  expect(count(/^same as trial \d+/)).toBe(14);
  expect(count(/draft tree has fewer nodes/)).toBe(6);
  // Beside the baseline's own launches and those: the three tokens of two steps at top-k 1, which no value of the grid
  // says, and three steps, which only their server shows to be production's defaults.
  const trials = sweep.launches.filter((flags) => flags['weight-version'] !== undefined);
  expect(trials).toHaveLength(28 + 1 + 1);
}, 30_000);
