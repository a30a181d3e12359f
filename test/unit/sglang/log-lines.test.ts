import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { decodeLine, startupValues } from '../../../src/sglang/log-lines.ts';
import { startupProgress } from '../../../src/sglang/startup-stage.ts';

const url = new URL('../../fixtures/logs/launch-success-0.5.23.log', import.meta.url);
const real = readFileSync(url, 'utf8').trimEnd().split('\n');

test('a real start tells limit, pool, context and that graphs are off', () => {
  expect(startupValues(real)).toMatchObject({
    runningLimitPerWorker: 4096,
    kvTokens: 16384,
    contextLength: 2048,
    chunkedPrefillSize: 4096,
    decodeGraphSizes: [],
  });
});

test.each([
  [
    'max_running_requests was reduced from the requested 128 to 50 (per dp worker) due to the available KV cache capacity.',
    50,
  ],
  [
    'max_running_requests is capped to 50 by the mamba state cache (max_mamba_cache_size=150, 3 state slots per request).',
    50,
  ],
  ['Reducing max_running_requests from 128 to 50: the KV cache holds no more.', 50],
  ['max running requests limited: requested 128 -> 50', 50],
  ['Max running requests is reset to 48 for speculative decoding.', undefined],
  ['Load weight end. elapsed=1 s', undefined],
])('%s: the running limit is %s', (line, limit) => {
  expect(startupValues([`[2026-11-30 18:12:39 TP0] ${line}`]).runningLimitPerWorker).toBe(limit);
});

test('the ready line of the scheduler wins over the line that says what was reduced', () => {
  const lines = [
    'max_running_requests was reduced from the requested 128 to 50 (per dp worker)',
    'max_total_num_tokens=9000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=50, context_len=4096',
  ];
  expect(startupValues(lines)).toMatchObject({
    runningLimitPerWorker: 50,
    requestedRunningLimit: 128,
  });
});

test.each([
  [
    'Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, bs=[1, 2, 4, 32], avail mem=9 GB',
    [1, 2, 4, 32],
  ],
  [
    'Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[32, 16, 8], avail mem=9 GB',
    [8, 16, 32],
  ],
  ['Capture cuda graph bs [1, 2, 4, 8, 16, 24]', [1, 2, 4, 8, 16, 24]],
  ['Capture draft decode CUDA graph begin. backend=full, bs=[1, 2]', undefined],
])('%s: graph sizes %j', (line, sizes) => {
  expect(startupValues([line]).decodeGraphSizes).toEqual(sizes);
});

test('a setting that the server calls removed or ignored is found', () => {
  const line =
    'SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker.';
  expect(startupValues([line, 'other']).ignored).toEqual([line]);
});

test('decode lines of plain, speculative and hybrid servers are read', () => {
  const at = '[2026-11-30 18:13:16] Decode batch, #running-req: 3, ';
  expect(
    decodeLine(
      `${at}#token: 14, token usage: 0.00, cpu graph: False, gen throughput (token/s): 1.28, #queue-req: 2`,
    ),
  ).toEqual({ running: 3, queued: 2, tokensPerSecond: 1.28, usedGraph: false });
  expect(
    decodeLine(
      `${at}#full token: 9, full token usage: 0.1, mamba num: 3, mamba usage: 0.2, accept len: 3.12, accept rate: 0.71, cuda graph: True, gen throughput (token/s): 1234.56, #queue-req: 0`,
    ),
  ).toEqual({
    running: 3,
    queued: 0,
    tokensPerSecond: 1234.56,
    usedGraph: true,
    acceptLength: 3.12,
  });
  expect(decodeLine('Prefill batch, #new-seq: 1')).toBeUndefined();
});

test('each stage of a real start is reached in order', () => {
  const stages = real.map((_, i) => startupProgress(real.slice(0, i + 1)).stage);
  const order = [...new Set(stages)];
  expect(order).toEqual([
    'importing',
    'arguments',
    'distributed',
    'weights',
    'memory-pools',
    'scheduler-ready',
    'http',
    'warm-up',
    'ready',
  ]);
});

test('progress bars that rewrite their line count as progress', () => {
  const bar = 'Capturing batches (bs=32 avail_mem=9.1 GB):';
  const line = `${bar}   4%|▍         | 1/23 [00:01<00:25]\r${bar}  13%|█▎        | 3/23 [00:03<00:20]`;
  expect(startupProgress([line])).toEqual({ stage: 'graph-capture', done: 3, total: 23 });
});
