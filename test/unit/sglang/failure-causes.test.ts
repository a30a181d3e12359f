import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { classifyFailure, type FailureFacts } from '../../../src/sglang/failure-causes.ts';
import { pythonExceptions } from '../../../src/sglang/python-traceback.ts';

function logOf(name: string): string[] {
  const url = new URL(`../../fixtures/logs/${name}-0.5.23.log`, import.meta.url);
  return readFileSync(url, 'utf8').trimEnd().split('\n');
}

const killed = { code: null, signal: 'SIGKILL', requested: false } as const;
const status = (code: number) => ({ code, signal: null, requested: false }) as const;

function cause(facts: Partial<FailureFacts>) {
  return classifyFailure({ phase: 'start', exit: killed, logLines: [], ...facts });
}

describe('real logs of SGLang 0.5.23', () => {
  test.each([
    ['invalid-flag', 2, 'argument-error', 'infeasible', 'unrecognized arguments: --no-such-flag 1'],
    ['invalid-choice', 2, 'argument-error', 'infeasible', "invalid choice: 'nope'"],
    ['invalid-type', 2, 'argument-error', 'infeasible', "invalid int value: 'abc'"],
    [
      'chunked-prefill-not-multiple-of-page',
      1,
      'invalid-combination',
      'infeasible',
      'chunked_prefill_size must be divisible by page_size',
    ],
    ['context-too-long', 1, 'invalid-combination', 'infeasible', 'context_length (99999)'],
    [
      'spec-partial-params',
      1,
      'invalid-combination',
      'infeasible',
      'speculative_hook.py:1162 _handle_eagle_family: and cfg.speculative_num_draft_tokens is None',
    ],
    ['tp2-dp3', 1, 'invalid-combination', 'infeasible', 'cfg.tp_size % cfg.attn_dp_size == 0'],
    ['wrong-model-path', 1, 'model-not-found', 'environment', 'Repo id must be in the form'],
    ['wrong-model-hub-id', 1, 'model-not-found', 'environment', "couldn't connect to"],
  ])('%s (exit %i) is %s', (log, code, expected, kind, message) => {
    const found = cause({ exit: status(code), logLines: logOf(log) });
    expect(found).toMatchObject({ code: expected, kind });
    expect(found.message).toContain(message);
  });

  test.each([
    ['mem-fraction-too-small', 'kv-pool-too-small', 'infeasible', 'weights'],
    ['nextn-qwen3-no-draft', 'scheduler-exception', 'infeasible', 'graph-capture'],
    ['launch-fail-scheduler-exception', 'missing-package', 'infeasible', 'weights'],
    ['port-in-use-http', 'port-in-use', 'environment', 'http'],
    ['double-second', 'port-in-use', 'environment', 'ready'],
  ])('%s (killed) is %s', (log, code, kind) => {
    expect(cause({ logLines: logOf(log) })).toMatchObject({ code, kind });
  });

  test('a port held by a silent listener hangs for ever and is still named', () => {
    const found = cause({ exit: null, timedOut: 'stall', logLines: logOf('port-in-use-quiet') });
    expect(found).toMatchObject({ code: 'port-in-use', kind: 'environment' });
  });

  test('weights that leave no memory say that the memory fraction was too low', () => {
    const { directions } = cause({ logLines: logOf('mem-fraction-too-small') });
    expect(directions).toEqual([{ flag: 'mem-fraction-static', value: 'too-low' }]);
  });

  test('an unsupported backend of the draft is infeasible with its own words', () => {
    const { message } = cause({ logLines: logOf('nextn-qwen3-no-draft') });
    expect(message).toBe('ValueError: EAGLE is not supported in attention backend torch_native');
  });

  test.each(['kill-scheduler', 'kill-detokenizer'])(
    '%s while serving is a killed process, not a fact about the flags',
    (log) => {
      const found = cause({ phase: 'serving', logLines: logOf(log) });
      expect(found).toMatchObject({ code: 'process-killed', kind: 'unknown' });
      expect(found.message).toContain('crashed with exit code -9');
    },
  );

  test('a parent killed from outside leaves only its end', () => {
    const found = cause({ phase: 'serving', logLines: logOf('kill-parent') });
    expect(found).toMatchObject({ code: 'crashed', kind: 'unknown', stage: 'ready' });
    expect(found.message).toContain('SIGKILL');
  });

  test.each(['sigterm-idle', 'sigint-idle', 'sigterm-busy'])('%s on request is no fault', (log) => {
    const exit = { code: 0, signal: null, requested: true };
    const found = cause({ phase: 'serving', exit, logLines: logOf(log) });
    expect(found).toMatchObject({ code: 'stopped', kind: 'environment' });
  });

  test('exit status 0 without being asked is a crash', () => {
    const found = cause({ phase: 'serving', exit: status(0), logLines: logOf('sigterm-idle') });
    expect(found).toMatchObject({ code: 'crashed', kind: 'unknown' });
  });
});

describe('texts of SGLang that no capture shows', () => {
  const memory = { flag: 'mem-fraction-static' };
  test.each([
    [
      'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.6',
      'kv-pool-too-small',
      [{ ...memory, value: 'too-low' }],
    ],
    [
      'Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.',
      'graph-capture-out-of-memory',
      [
        { ...memory, value: 'too-high' },
        { flag: 'cuda-graph-max-bs-decode', value: 'too-high' },
      ],
    ],
    [
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.5 GiB. GPU 0 has',
      'out-of-memory',
      [{ ...memory, value: 'too-high' }],
    ],
    [
      'RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0',
      'state-cache-too-small',
      [
        { ...memory, value: 'too-low' },
        { flag: 'max-running-requests', value: 'too-high' },
        { flag: 'speculative-num-draft-tokens', value: 'too-high' },
      ],
    ],
    [
      'RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.',
      'pool-out-of-memory',
      [{ flag: 'max-running-requests', value: 'too-high' }],
    ],
    [
      'RuntimeError: Prefill out of memory. Try to lower your batch size.',
      'pool-out-of-memory',
      [{ flag: 'max-running-requests', value: 'too-high' }],
    ],
  ])('%s names the flag and its direction', (line, code, directions) => {
    const logLines = [
      '[2026-11-30 18:20:31 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      '  File "/x/sglang/srt/managers/scheduler.py", line 1, in run',
      '    raise',
      line,
      '',
      '[2026-11-30 18:20:31] Received sigquit from a child process. It usually means the child failed.',
    ];
    expect(cause({ logLines })).toMatchObject({ code, kind: 'infeasible', directions });
  });

  test.each([
    [
      '[2026-11-30 18:22:39] ERROR:    [Errno 98] error while attempting to bind on address',
      'port-in-use',
    ],
    ['ValueError: Port is already in use. dist_init_port=30233', 'port-in-use'],
    ['sglang.service: Start request repeated too quickly.', 'start-limit-hit'],
    ['OSError: [Errno 28] No space left on device', 'disk-full'],
    [
      'RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. ',
      'gpu-occupied',
    ],
    ['RuntimeError: CUDA error: uncorrectable ECC error encountered', 'gpu-fault'],
    ['RuntimeError: No CUDA-capable device is detected', 'gpu-fault'],
    ['/usr/bin/python3: No module named sglang.launch_server', 'not-installed'],
    ['OSError: [Errno 24] Too many open files', 'file-limit'],
  ])('%s is the environment', (line, code) => {
    expect(cause({ logLines: [line] })).toMatchObject({
      code,
      kind: 'environment',
      directions: [],
    });
  });

  test('a warm-up answered by a proxy is the environment', () => {
    const logLines = [
      '[2026-11-30 18:38:10] Initialization failed. warmup error: Traceback (most recent call last):',
      '  File "/x/http_server.py", line 2376, in _execute_server_warmup',
      '    assert res.status_code == 200, f"{res=}, {res.text=}"',
      "AssertionError: res=<Response [502]>, res.text='proxy'",
    ];
    expect(cause({ logLines })).toMatchObject({
      code: 'warm-up-through-proxy',
      kind: 'environment',
    });
  });

  test('the watchdog, a rank abort and a stall while serving are hangs of unknown blame', () => {
    const serving = { phase: 'serving', exit: killed } as const;
    const watchdog = 'Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)';
    const rank = 'ProcessGroupNCCL: rank 1 Watchdog caught collective operation timeout';
    expect(cause({ ...serving, logLines: [watchdog] }).code).toBe('watchdog-timeout');
    expect(cause({ ...serving, logLines: [rank] }).code).toBe('collective-failure');
    expect(cause({ phase: 'serving', exit: null, timedOut: 'stall' }).code).toBe('serving-hang');
  });

  test('a capture that stops at 1/23 is a start-up hang at that stage', () => {
    const logLines = [
      '[2026-11-30 18:12:39] Capture target decode CUDA graph begin. backend=full, bs=[1, 2, 4]',
      'Capturing batches (bs=160 avail_mem=9.1 GB):   4%|▍         | 1/23 [00:01<00:25,  1.1s/it]',
    ];
    const found = cause({ exit: null, timedOut: 'stall', logLines });
    expect(found).toMatchObject({ code: 'startup-hang', kind: 'unknown', stage: 'graph-capture' });
  });

  test('a start that was still progressing at the limit is told apart from a hang', () => {
    const logLines = ['Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:10<00:30]'];
    const found = cause({ exit: null, timedOut: 'total', logLines });
    expect(found).toMatchObject({ code: 'start-limit', kind: 'unknown', stage: 'weights' });
  });

  test('a refused request while serving is not taken for the cause of a crash', () => {
    const logLines = [
      'Traceback (most recent call last):',
      '  File "/x/serving.py", line 3, in f',
      '    raise ValueError("bad")',
      'ValueError: bad',
      '[2026-11-30 18:20:31] Subprocess scheduler_0 (pid=16878) crashed with exit code -9. Triggering SIGQUIT for cleanup...',
    ];
    expect(cause({ phase: 'serving', logLines }).code).toBe('process-killed');
  });

  test('a key in the failing line is not shown', () => {
    const logLines = ['ValueError: Port is already in use. api_key=abc-secret-1 other'];
    expect(cause({ logLines }).message).toBe(
      'ValueError: Port is already in use. api_key=*** other',
    );
  });
});

test.each([
  ['error: invalid argument: --no-such', 'argument-error'],
  ['server: error: invalid argument: --no-such', 'argument-error'],
])('%s of a llama-server is an argument error', (line, code) => {
  expect(cause({ exit: status(1), logLines: [line] }).code).toBe(code);
});

test('a chained traceback ends with the exception that ended the process', () => {
  const types = pythonExceptions(logOf('wrong-model-path')).map(({ type }) => type);
  expect(types.at(-1)).toBe('OSError');
});
