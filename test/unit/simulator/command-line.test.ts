import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/simulator/command-line.ts';
import { helpText } from '../../../src/simulator/help-text.ts';

const model = ['--model-path', '/m'];

function valueOf(argv: readonly string[], field: string): unknown {
  const parsed = parseCommandLine([...model, ...argv]);
  return parsed.state === 'parsed' ? parsed.values.get(field) : parsed;
}

describe('an accepted command line', () => {
  test.each([
    { argv: ['--tp', '4'], field: 'tp_size', want: 4 },
    { argv: ['--mem-frac', '0.5'], field: 'mem_fraction_static', want: 0.5 },
    { argv: ['--page-size', '1', '--page-size', '16'], field: 'page_size', want: 16 },
    { argv: ['--page-size=64'], field: 'page_size', want: 64 },
    { argv: ['--max-total-tokens', '1Ki'], field: 'max_total_tokens', want: 1024 },
    { argv: ['--chunked-prefill-size', '-1'], field: 'chunked_prefill_size', want: -1 },
    { argv: ['--cuda-graph-bs', '1', '2', '8'], field: 'cuda_graph_bs_decode', want: [1, 2, 8] },
    { argv: ['--no-enable-tf32-matmul'], field: 'enable_tf32_matmul', want: false },
    {
      argv: ['--mamba-scheduler-strategy', 'extra_buffer'],
      field: 'mamba_radix_cache_strategy',
      want: 'extra_buffer',
    },
  ])('$argv sets $field to $want', ({ argv, field, want }) => {
    expect(valueOf(argv, field)).toEqual(want);
  });
});

describe('a refused command line has the words of argparse', () => {
  test.each([
    { argv: ['--no-such-flag', '1'], want: 'unrecognized arguments: --no-such-flag 1' },
    {
      argv: ['--enable-fused-moe-sum-all-reduce', 'true'],
      want: 'unrecognized arguments: true',
    },
    {
      argv: ['--max_running_requests', '4'],
      want: 'unrecognized arguments: --max_running_requests 4',
    },
    {
      argv: ['--max-running-requests', 'abc'],
      want: "argument --max-running-requests: invalid int value: 'abc'",
    },
    {
      argv: ['--schedule-policy', 'zzz'],
      want: "argument --schedule-policy: invalid choice: 'zzz' (choose from 'lpm', 'random', 'fcfs', 'dfs-weight', 'lof', 'priority', 'routing-key', 'hrrn', 'shortest-prefill-first')",
    },
    {
      argv: ['--tp-size'],
      want: 'argument --tp-size/--tensor-parallel-size: expected one argument',
    },
  ])('$argv', ({ argv, want }) => {
    expect(parseCommandLine([...model, ...argv])).toEqual({ state: 'error', message: want });
  });

  test('an abbreviation of several flags is ambiguous', () => {
    expect(parseCommandLine([...model, '--speculative-num', '1'])).toEqual({
      state: 'error',
      message:
        'ambiguous option: --speculative-num could match --speculative-num-steps, --speculative-num-draft-tokens',
    });
  });

  test('the model path is required', () => {
    expect(parseCommandLine([])).toEqual({
      state: 'error',
      message: 'the following arguments are required: --model-path/--model',
    });
  });
});

test('the help lists every flag with its values after the usage', () => {
  const help = helpText();
  expect(help).toMatch(/^usage: sglang serve \[-h\] --model-path MODEL_PATH\n/);
  expect(help).toContain('\noptions:\n  -h, --help            show this help message and exit\n');
  expect(help).toContain('\n  --model-path MODEL_PATH, --model MODEL_PATH\n');
  expect(help).toContain('\n  --retraction-policy {length,priority}\n');
});
