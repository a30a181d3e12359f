import type { FlagHelp } from './help.ts';

/** A flag that changes how fast a server is, with values to begin with. */
export interface TunableFlag {
  readonly name: string;
  /** As a study file writes them; `~` is the flag left out. */
  readonly values: readonly (string | number | boolean)[];
  /** What it trades, in a few words. */
  readonly why: string;
  /** First version whose help shows the flag, of those looked at: 0.4.9, 0.5.2, 0.5.10, 0.5.20, 0.5.23. */
  readonly since: string;
}

type Row = readonly [string, TunableFlag['values'], string, string];

const speculation: readonly Row[] = [
  [
    'speculative-algorithm',
    ['~', 'NEXTN', 'EAGLE3', 'NGRAM'],
    '0.4.9',
    'fewer decode steps while requests are few, more work each while they are many',
  ],
  [
    'speculative-num-steps',
    [1, 2, 3, 5],
    '0.4.9',
    'deeper drafts pay while most drafts are accepted',
  ],
  ['speculative-eagle-topk', [1, 2, 4], '0.4.9', 'trees accept more and verify more'],
  [
    'speculative-num-draft-tokens',
    ['~', 4, 6, 8],
    '0.4.9',
    'width of the verify step; needed above top-k 1, follows from the steps at 1',
  ],
  ['speculative-attention-mode', ['prefill', 'decode'], '0.5.2', 'which kernel verifies'],
  [
    'speculative-ngram-max-bfs-breadth',
    [1, 4, 10],
    '0.5.10',
    'breadth of drafts taken from the text itself',
  ],
];

const scheduling: readonly Row[] = [
  [
    'max-running-requests',
    [48, 96, 128, 256],
    '0.4.9',
    'requests at a time: throughput against speed of each, and against memory',
  ],
  [
    'chunked-prefill-size',
    [2048, 4096, 8192, 16384],
    '0.4.9',
    'long prompts in pieces: waiting of others against prefill speed',
  ],
  ['max-prefill-tokens', [8192, 16384, 32768], '0.4.9', 'prompt tokens taken in at a time'],
  ['schedule-policy', ['fcfs', 'lpm'], '0.4.9', 'lpm gains where prompts share prefixes'],
  [
    'schedule-conservativeness',
    [0.3, 1.0, 1.3],
    '0.4.9',
    'how much room is kept for requests that run',
  ],
  [
    'disable-overlap-schedule',
    [false, true],
    '0.4.9',
    'overlap hides the scheduler behind the GPU',
  ],
  ['enable-mixed-chunk', [false, true], '0.4.9', 'prefill and decode in one batch'],
  ['stream-interval', [1, 4, 8], '0.4.9', 'fewer, larger pieces to the client'],
  ['scheduler-recv-interval', [1, 4], '0.5.2', 'how often new requests are looked for'],
  ['tokenizer-worker-num', [1, 4], '0.5.2', 'many short requests keep one tokenizer busy'],
];

const memory: readonly Row[] = [
  [
    'mem-fraction-static',
    [0.8, 0.85, 0.9],
    '0.4.9',
    'more cache against room for graphs and activations',
  ],
  ['page-size', [1, 16, 64], '0.4.9', 'larger pages suit some kernels and waste some cache'],
  ['kv-cache-dtype', ['auto', 'fp8_e4m3'], '0.4.9', 'twice the cache; changes outputs slightly'],
  ['radix-eviction-policy', ['lru', 'lfu'], '0.5.10', 'what the prefix cache forgets first'],
  [
    'max-mamba-cache-size',
    [128, 256],
    '0.5.2',
    'slots for recurrent state: they limit the running requests of hybrid models',
  ],
  [
    'mamba-full-memory-ratio',
    [0.5, 0.9],
    '0.5.10',
    'state of hybrid models against their KV cache',
  ],
  ['mamba-ssm-dtype', ['bfloat16', 'float32'], '0.5.2', 'half the state; changes outputs slightly'],
  [
    'mamba-radix-cache-strategy',
    ['auto', 'no_buffer', 'extra_buffer'],
    '0.5.20',
    'prefix cache of hybrid models against their overlap schedule',
  ],
];

const kernels: readonly Row[] = [
  [
    'attention-backend',
    ['flashinfer', 'triton', 'fa3', 'trtllm_mha'],
    '0.4.9',
    'which is fastest depends on GPU, model and batch',
  ],
  [
    'prefill-attention-backend',
    ['~', 'flashinfer', 'fa3'],
    '0.5.2',
    'a backend of its own for prefill',
  ],
  [
    'decode-attention-backend',
    ['~', 'flashinfer', 'triton'],
    '0.5.2',
    'a backend of its own for decode',
  ],
  ['linear-attn-decode-backend', ['triton', 'flashinfer'], '0.5.10', 'kernels of linear attention'],
  [
    'moe-runner-backend',
    ['auto', 'triton', 'flashinfer_cutlass', 'flashinfer_trtllm'],
    '0.5.2',
    'kernels of the experts',
  ],
  [
    'enable-fused-moe-sum-all-reduce',
    [false, true],
    '0.5.10',
    'acts with the triton MoE runner only',
  ],
  ['cuda-graph-max-bs-decode', [64, 128, 256], '0.5.20', 'batches above it decode without a graph'],
  ['cuda-graph-max-bs', [64, 128, 256], '0.4.9', 'batches above it decode without a graph'],
  ['enable-torch-compile', [false, true], '0.4.9', 'faster small batches, much longer start'],
];

const communication: readonly Row[] = [
  [
    'disable-custom-all-reduce',
    [false, true],
    '0.4.9',
    'without peer-to-peer access NCCL may be faster',
  ],
  ['enable-symm-mem', [false, true], '0.5.2', 'all-reduce in symmetric memory'],
  ['enable-torch-symm-mem', [false, true], '0.5.10', 'all-reduce in symmetric memory, by torch'],
  ['enable-nccl-nvls', [false, true], '0.4.9', 'all-reduce in the switch of NVLink'],
  ['enable-mscclpp', [false, true], '0.4.9', 'all-reduce of small messages'],
  ['enable-two-batch-overlap', [false, true], '0.4.9', 'hides communication behind a second batch'],
  ['enable-single-batch-overlap', [false, true], '0.5.10', 'hides communication within a batch'],
];

const tunable = new Map(
  [...speculation, ...scheduling, ...memory, ...kernels, ...communication].map(
    ([name, values, since, why]) => [name, { name, values, why, since }] as const,
  ),
);

/** Every flag that is worth tuning in some version. */
export const TUNABLE_FLAGS: readonly TunableFlag[] = [...tunable.values()];

/**
 * What there is to try with a flag of this version; values that its help does not list are left
 * out. Undefined for a flag that makes a server no faster.
 */
export function tunableFlag({ name, choices }: FlagHelp): TunableFlag | undefined {
  const found = tunable.get(name);
  if (found === undefined || choices === undefined) return found;
  const values = found.values.filter((value) => value === '~' || choices.includes(String(value)));
  return { ...found, values };
}
