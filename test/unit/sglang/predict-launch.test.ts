import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Assignment } from '../../../src/search-space/assignment.ts';
import { parseCondition } from '../../../src/search-space/condition-text.ts';
import { rejects } from '../../../src/search-space/constraints.ts';
import { contextValues, type LaunchContext } from '../../../src/sglang/launch-context.ts';
import {
  describeRewrites,
  effectiveKey,
  predictLaunch,
} from '../../../src/sglang/predict-launch.ts';

const hopper: LaunchContext = {
  version: '0.5.23',
  device: 'cuda',
  gpuName: 'NVIDIA H100 80GB HBM3',
  gpuCapability: '9.0',
  gpuCount: 4,
  deviceMemoryGib: 80,
  modelArchitecture: 'Qwen3_5MoeForConditionalGeneration',
  hasFlashinfer: true,
};
/** Only the version is known. */
const bare: LaunchContext = { version: '0.5.23' };

function speculation(steps: number | null, topk: number | null, draft: number | null): Assignment {
  return {
    'speculative-algorithm': 'NEXTN',
    'speculative-num-steps': steps,
    'speculative-eagle-topk': topk,
    'speculative-num-draft-tokens': draft,
  };
}

describe('the numbers of speculation', () => {
  const grid = [1, 2, 3, 5].flatMap((steps) =>
    [1, 2, 4].flatMap((topk) => [2, 4, 6, 8].map((draft) => speculation(steps, topk, draft))),
  );

  test.each([
    ['everything known', hopper],
    ['only the version known', bare],
  ])(
    'of the 48-point grid 30 are launched, 12 are equivalent and 6 are illegal (%s)',
    (_, context) => {
      const legal = grid.filter((flags) => predictLaunch(flags, context).verdict === 'legal');
      const launched = new Set(legal.map((flags) => effectiveKey(flags, context)));
      // Top-k 1: 4 depths, 16 points. A tree of one step has topk nodes and the root: at top-k 2
      // 4, 6 and 8 do not fit into 3, at top-k 4 6 and 8 not into 5; two steps at top-k 2 have 7
      // nodes, too few for 8. Deeper ones have room for all.
      expect(grid).toHaveLength(48);
      const illegal = grid.length - legal.length;
      expect({
        launched: launched.size,
        equivalent: legal.length - launched.size,
        illegal,
      }).toEqual({
        launched: 30,
        equivalent: 12,
        illegal: 6,
      });
    },
  );

  test('a tree too small for the draft tokens says so, and that it fails while serving', () => {
    const found = predictLaunch(speculation(1, 2, 8), hopper);
    expect(found).toMatchObject({ ruleId: 'more-draft-tokens-than-tree', failsAt: 'serving' });
    expect(found.reason).toContain('fewer nodes');
  });

  test('steps {2,3} x top-k 1 x draft tokens {3,4,8} are two launches and four aliases', () => {
    const points = [2, 3].flatMap((steps) =>
      [3, 4, 8].map((draft) => speculation(steps, 1, draft)),
    );
    expect(new Set(points.map((flags) => effectiveKey(flags, bare))).size).toBe(2);
  });

  test('at top-k 1 other draft tokens are told as rewritten', () => {
    const flags = speculation(3, 1, 8);
    const found = predictLaunch(flags, bare);
    expect(found.effective['speculative-num-draft-tokens']).toBe(4);
    expect(found.notes).toContainEqual(
      expect.objectContaining({ kind: 'rewritten', ruleId: 'draft-tokens-at-topk-1' }),
    );
    expect(describeRewrites(flags, found)).toContain('speculative-num-draft-tokens 8 runs as 4');
  });

  test.each([
    [speculation(null, 4, null), 'steps-missing'],
    [speculation(null, null, 4), 'steps-missing'],
    [speculation(3, null, null), 'topk-missing'],
    [speculation(3, null, 4), 'topk-missing'],
    [speculation(3, 4, null), 'draft-tokens-above-topk-1'],
    [{ ...speculation(3, 4, 8), 'attention-backend': 'trtllm_mha' }, 'trtllm-tree'],
    [{ 'speculative-algorithm': 'MAGIC' }, 'unknown-algorithm'],
  ])('%j is illegal by %s, without knowing the machine', (flags, ruleId) => {
    expect(predictLaunch(flags, bare)).toMatchObject({ verdict: 'illegal', ruleId });
  });

  test('no numbers at all is the same server as 3, 1, 4', () => {
    const none = effectiveKey(speculation(null, null, null), hopper);
    expect(none).toBe(effectiveKey(speculation(3, 1, 4), hopper));
  });

  test('without the model known the default numbers stay unknown and equal nothing', () => {
    expect(predictLaunch(speculation(null, null, null), bare).unknown).toContain(
      'speculative-num-steps',
    );
    const none = effectiveKey(speculation(null, null, null), bare);
    expect(none).not.toBe(effectiveKey(speculation(3, 1, 4), bare));
  });

  test('an unset running limit is 48 under speculation and told', () => {
    const found = predictLaunch(speculation(3, 1, 4), bare);
    expect(found.effective['max-running-requests']).toBe(48);
    expect(found.notes.map(({ ruleId }) => ruleId)).toContain('running-limit-48');
  });

  test('numbers without an algorithm are inert, and start the same server as none', () => {
    const flags = { 'speculative-num-steps': 3 };
    expect(predictLaunch(flags, hopper).notes).toContainEqual(
      expect.objectContaining({ kind: 'inert', flags: ['speculative-num-steps'] }),
    );
    expect(effectiveKey(flags, hopper)).toBe(effectiveKey({}, hopper));
  });

  test('top-k without an algorithm still changes the attention backend', () => {
    const flags = { 'speculative-eagle-topk': 4 };
    expect(predictLaunch(flags, hopper).effective['attention-backend']).toBe('flashinfer');
    expect(effectiveKey(flags, hopper)).not.toBe(effectiveKey({}, hopper));
  });
});

describe('what is not known', () => {
  test('without a version nothing is illegal', () => {
    expect(predictLaunch(speculation(null, 4, null), {}).verdict).toBe('legal');
  });

  test('a rule that needs the GPU holds for no unknown GPU', () => {
    const flags = { 'attention-backend': 'trtllm_mha' };
    expect(predictLaunch(flags, { ...bare, gpuCapability: '8.0' }).verdict).toBe('illegal');
    expect(predictLaunch(flags, bare).verdict).toBe('legal');
  });

  test('workstation Blackwell (12.0) is not taken for data-centre Blackwell (10.0)', () => {
    const on = (gpuCapability: string) =>
      predictLaunch({}, { ...hopper, gpuCapability }).effective['attention-backend'];
    expect([on('9.0'), on('10.0'), on('12.0')]).toEqual(['fa3', 'triton', 'flashinfer']);
  });

  test('a user constraint can name the exact compute capability', () => {
    const trtllm = parseCondition('trtllm_mha', []);
    const other = parseCondition('!= 10.0', []);
    if ('problem' in trtllm || 'problem' in other) throw new Error('not parsed');
    const constraint = {
      text: '',
      when: { 'gpu.capability': other.condition },
      forbid: { 'attention-backend': trtllm.condition },
    };
    const facts = contextValues({ gpuCapability: '12.0' }) as Assignment;
    expect(rejects(constraint, { ...facts, 'attention-backend': 'trtllm_mha' })).toBe(true);
    expect(rejects(constraint, { ...facts, 'attention-backend': 'triton' })).toBe(false);
  });
});

describe('equivalence', () => {
  test('a dead flag makes no other server', () => {
    const dead = { 'num-continuous-decode-steps': 4 };
    expect(effectiveKey(dead, bare)).toBe(effectiveKey({}, bare));
    expect(predictLaunch(dead, bare).notes[0]).toMatchObject({ kind: 'inert' });
  });

  test('a flag given its default is the same server as without it', () => {
    expect(effectiveKey({ 'schedule-policy': 'fcfs' }, bare)).toBe(effectiveKey({}, bare));
  });

  test('a retired variable is inert', () => {
    const [zero, one] = ['0', '1'].map((value) =>
      effectiveKey({ 'env.SGLANG_ENABLE_SPEC_V2': value }, bare),
    );
    expect(zero).toBe(one);
  });

  test('a flag no rule knows makes another server per value', () => {
    const keys = ['Ring', 'Tree', null].map((value) =>
      effectiveKey({ 'env.NCCL_ALGO': value }, bare),
    );
    expect(new Set(keys).size).toBe(3);
  });

  test('the key does not depend on the order of the flags', () => {
    const value = fc.constantFrom(null, 1, 2, 4, 64, true);
    const names = ['page-size', 'max-running-requests', 'speculative-eagle-topk', 'x-flag'];
    const entries = fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), value)));
    fc.assert(
      fc.property(entries, (pairs) => {
        const reversed = Object.fromEntries([...pairs].reverse());
        expect(effectiveKey(Object.fromEntries(pairs), hopper)).toBe(
          effectiveKey(reversed, hopper),
        );
      }),
    );
  });
});

test('graphs below the running limit and draft tokens on a hybrid model are told as coupled', () => {
  const flags = {
    ...speculation(3, 1, null),
    'max-running-requests': 96,
    'cuda-graph-max-bs-decode': 32,
  };
  const coupled = predictLaunch(flags, hopper).notes.filter(({ kind }) => kind === 'coupled');
  expect(coupled.map(({ ruleId }) => ruleId)).toEqual([
    'graph-below-limit',
    'draft-and-state-cache',
  ]);
});

test('mixed chunks run under EAGLE from 0.5.23 on, and not before', () => {
  const flags = { ...speculation(3, 1, 4), 'enable-mixed-chunk': true };
  const runs = (version: string) =>
    predictLaunch(flags, { ...bare, version }).effective['enable-mixed-chunk'];
  expect([runs('0.5.20'), runs('0.5.23')]).toEqual([null, true]);
});
