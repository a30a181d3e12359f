import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { effectiveConfiguration, limitMarks } from '../../../src/sglang/effective-configuration.ts';

function serverInfo(name: string): Record<string, unknown> {
  const url = new URL(`../../fixtures/resolution/${name}-0.5.23.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as Record<string, unknown>;
}

/** Server info of 0.5.23 with some fields replaced, and its workers' limits. */
function changed(fields: Record<string, unknown>, limits: readonly number[]) {
  const info = serverInfo('server-info');
  const states = limits.map((limit) => ({ effective_max_running_requests_per_dp: limit }));
  return { ...info, ...fields, internal_states: states };
}

const reduced =
  'max_running_requests was reduced from the requested 128 to 50 (per dp worker) due to the available KV cache capacity.';

describe('asked and effective', () => {
  test('real server info tells version, limit, pool and that graphs are off', () => {
    const found = effectiveConfiguration({ assignment: {}, serverInfo: serverInfo('server-info') });
    expect(found).toMatchObject({
      version: '0.5.23',
      runningLimit: 4096,
      kvTokens: 16384,
      largestDecodeGraph: 0,
    });
  });

  test('under speculation the limit of 48 that nobody asked for is seen', () => {
    const info = serverInfo('server-info-ngram');
    const assignment = { 'speculative-algorithm': 'NGRAM', 'max-running-requests': null };
    const found = effectiveConfiguration({ assignment, serverInfo: info });
    expect(found.runningLimit).toBe(48);
    expect(found.values['speculative-algorithm']).toMatchObject({ took: 'yes' });
  });

  test('NEXTN that shows as EAGLE took effect', () => {
    const info = changed({ speculative_algorithm: 'EAGLE' }, [48]);
    const { values } = effectiveConfiguration({
      assignment: { 'speculative-algorithm': 'NEXTN' },
      serverInfo: info,
    });
    expect(values['speculative-algorithm']).toEqual({
      asked: 'NEXTN',
      effective: 'EAGLE',
      from: 'server-info',
      took: 'yes',
    });
  });

  test('128 running requests of which 50 were granted did not take effect', () => {
    const info = changed({ max_running_requests: 128 }, [50]);
    const { values, runningLimit } = effectiveConfiguration({
      assignment: { 'max-running-requests': 128 },
      serverInfo: info,
    });
    expect(runningLimit).toBe(50);
    expect(values['max-running-requests']).toMatchObject({ effective: 50, took: 'no' });
  });

  test('the limits of data-parallel workers add up', () => {
    const info = changed({ dp_size: 2 }, [24, 24]);
    expect(effectiveConfiguration({ assignment: {}, serverInfo: info }).runningLimit).toBe(48);
  });

  test('without server info the log answers', () => {
    const { values } = effectiveConfiguration({
      assignment: { 'max-running-requests': 128 },
      logLines: [reduced],
    });
    expect(values['max-running-requests']).toMatchObject({
      effective: 50,
      from: 'log',
      took: 'no',
    });
  });

  test('what neither tells is unknown, not equal', () => {
    const found = effectiveConfiguration({ assignment: { 'max-running-requests': 128 } });
    expect(found.values['max-running-requests']).toEqual({ asked: 128, took: 'unknown' });
    expect(found.runningLimit).toBeNull();
  });

  test('a boolean flag that is off and one that is absent are the same', () => {
    const info = changed({ disable_radix_cache: false }, [48]);
    const took = (asked: boolean) =>
      effectiveConfiguration({ assignment: { 'disable-radix-cache': asked }, serverInfo: info })
        .values['disable-radix-cache']?.took;
    expect([took(false), took(true)]).toEqual(['yes', 'no']);
  });

  test('an environment variable is judged by the running process', () => {
    const took = (environment?: Record<string, string>) =>
      effectiveConfiguration({
        assignment: { 'env.NCCL_ALGO': 'Ring' },
        ...(environment && { environment }),
      }).values['env.NCCL_ALGO']?.took;
    expect([took({ NCCL_ALGO: 'Ring' }), took({}), took()]).toEqual(['yes', 'no', 'unknown']);
  });

  test('a variable the server calls removed had no effect', () => {
    const found = effectiveConfiguration({
      assignment: { 'env.SPEC_SWITCH': '1' },
      logLines: ['SPEC_SWITCH has been removed: always on.'],
      environment: { SPEC_SWITCH: '1' },
    });
    expect(found.values['env.SPEC_SWITCH']?.took).toBe('no');
    expect(found.ignored).toHaveLength(1);
  });
});

describe('limits at a concurrency', () => {
  const with32 = effectiveConfiguration({
    assignment: {},
    serverInfo: changed({ max_total_num_tokens: 100_000 }, [4096]),
    logLines: ['Capture target decode CUDA graph begin. backend=full, bs=[1, 2, 16, 32], avail'],
  });

  test('64 in flight above graphs of up to 32 are marked with the flag that lifts it', () => {
    expect(limitMarks(with32, 64, 100)).toEqual([
      {
        code: 'eager-decode',
        facts: { concurrency: 64, largestDecodeGraph: 32 },
        flag: 'cuda-graph-max-bs-decode',
      },
    ]);
    expect(limitMarks({ ...with32, largestDecodeGraph: 64 }, 64, 100)).toEqual([]);
  });

  test('a server whose graphs are off is not marked', () => {
    expect(limitMarks({ ...with32, largestDecodeGraph: 0 }, 64, 100)).toEqual([]);
  });

  test('64 in flight above a limit of 48 are marked', () => {
    const codes = limitMarks({ ...with32, runningLimit: 48, largestDecodeGraph: 48 }, 64, 100);
    expect(codes.map(({ code }) => code)).toEqual(['above-running-limit']);
  });

  test('a pool that does not hold all requests in flight is marked', () => {
    expect(limitMarks(with32, 32, 4000)).toMatchObject([
      { code: 'kv-pool-too-small', facts: { neededTokens: 128_000, kvTokens: 100_000 } },
    ]);
  });
});

test('a flag that the process was not started with did not take effect, however it was asked', () => {
  const found = effectiveConfiguration({
    assignment: { 'stream-interval': 4, 'random-seed': 7 },
    processFlags: { 'random-seed': 7 },
  });
  expect(found.values['stream-interval']).toEqual({
    asked: 4,
    effective: null,
    from: 'process',
    took: 'no',
  });
  // That it was asked for is no proof that it took effect.
  expect(found.values['random-seed']?.took).toBe('unknown');
});

test('a parameter that the study writes by an alias is read under the name the server uses', () => {
  const found = effectiveConfiguration({
    assignment: { tp: 2 },
    serverInfo: { model_path: '/m', tp_size: 4 },
    canonicalName: () => 'tp-size',
  });
  expect(found.values['tp']).toMatchObject({ asked: 2, effective: 4, took: 'no' });
});

test('16k that runs as 16000 and auto that runs as anything are in force', () => {
  const found = effectiveConfiguration({
    assignment: { 'max-total-tokens': '16k', 'moe-runner-backend': 'auto' },
    serverInfo: { model_path: '/m', max_total_tokens: 16_000, moe_runner_backend: 'triton' },
  });
  expect(found.values['max-total-tokens']?.took).toBe('yes');
  expect(found.values['moe-runner-backend']?.took).toBe('yes');
});
