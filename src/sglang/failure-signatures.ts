/** What a failure says about one flag: this value, and all beyond it, cannot work (field report A14). */
export interface Direction {
  /** Canonical flag name without dashes. */
  readonly flag: string;
  readonly value: 'too-high' | 'too-low';
}

export type FailureKind = 'infeasible' | 'environment' | 'unknown';

/** A text in a server log that tells why it failed. */
export interface FailureSignature {
  readonly code: string;
  readonly kind: FailureKind;
  readonly pattern: RegExp;
  readonly directions?: readonly Direction[];
}

const memoryTooHigh: readonly Direction[] = [{ flag: 'mem-fraction-static', value: 'too-high' }];
const memoryTooLow: readonly Direction[] = [{ flag: 'mem-fraction-static', value: 'too-low' }];
const stateTooSmall: readonly Direction[] = [
  ...memoryTooLow,
  { flag: 'max-running-requests', value: 'too-high' },
  { flag: 'speculative-num-draft-tokens', value: 'too-high' },
];
const tooManyRequests: readonly Direction[] = [{ flag: 'max-running-requests', value: 'too-high' }];
const captureTooHigh: readonly Direction[] = [
  ...memoryTooHigh,
  { flag: 'cuda-graph-max-bs-decode', value: 'too-high' },
];

/**
 * Known texts, the telling ones first: one failure prints several (an exception, then "Received
 * sigquit", then "crashed with exit code -9"), and the first match in this order names the cause.
 *
 * Texts of SGLang 0.5.23 were read in its source and seen in real logs (test/fixtures/logs);
 * files and lines at 0.5.23 below `python/sglang/srt/`.
 */
export const failureSignatures: readonly FailureSignature[] = [
  // The port comes first: a second server prints "ready to roll" and then dies of other causes.
  {
    code: 'port-in-use',
    kind: 'environment',
    pattern:
      /\[Errno 98\]|address already in use|EADDRINUSE|Port is already in use|at \d+ is not available in \d+ seconds|couldn't bind HTTP server socket/i,
  },
  {
    code: 'start-limit-hit',
    kind: 'environment',
    pattern: /start-limit-hit|Start request repeated too quickly/,
  },
  {
    code: 'gpu-occupied',
    kind: 'environment',
    // distributed/bootstrap.py:445
    pattern: /The memory capacity is unbalanced\. Some GPUs may be occupied/,
  },
  {
    code: 'gpu-fault',
    kind: 'environment',
    pattern:
      /uncorrectable ECC|\bXid\b.*\d|GPU (?:is lost|has fallen off the bus)|no CUDA-capable device|CUDA driver version is insufficient|Driver\/library version mismatch|CUDA driver initialization failed|system not yet initialized|No accelerator \(/i,
  },
  { code: 'disk-full', kind: 'environment', pattern: /No space left on device|\[Errno 28\]/ },
  { code: 'file-limit', kind: 'environment', pattern: /Too many open files|\[Errno 24\]/ },
  {
    code: 'not-installed',
    kind: 'environment',
    pattern: /No module named '?sglang(?:\.|'|$)|sglang: (?:command )?not found/,
  },
  {
    code: 'model-not-found',
    kind: 'environment',
    pattern:
      /We couldn't connect to 'https:\/\/huggingface|Repo id must be in the form|is not a valid model identifier|(?:Gated|Repository)\w*Error|is not a local folder and is not|failed to (?:load|open) (?:model|GGUF)/i,
  },
  // model_executor/pool_configurator.py:96
  {
    code: 'kv-pool-too-small',
    kind: 'infeasible',
    pattern: /Not enough memory\. Please try to increase --mem-fraction-static/,
    directions: memoryTooLow,
  },
  // mem_cache/kv_cache_configurator.py:3051
  {
    code: 'kv-pool-too-small',
    kind: 'infeasible',
    pattern: /leave no GPU memory for the KV cache/,
    directions: memoryTooLow,
  },
  // mem_cache/kv_cache_configurator.py:3394, 3154
  {
    code: 'state-cache-too-small',
    kind: 'infeasible',
    pattern:
      /Not enough GPU memory for hybrid|[Ss]tate cache is too small to serve|reduce max_running_requests/,
    directions: stateTooSmall,
  },
  // model_executor/runner/decode_cuda_graph_runner.py:603
  {
    code: 'graph-capture-out-of-memory',
    kind: 'infeasible',
    pattern: /Capture (?:cuda|cpu) graph failed:.*out of memory/i,
    directions: captureTooHigh,
  },
  // mem_cache/allocation.py:239, 345, 613
  {
    code: 'pool-out-of-memory',
    kind: 'infeasible',
    pattern:
      /(?:Prefill|Decode) out of memory\. Try to lower your batch size|alloc_req_slots runs out of memory|Out of memory even after retracting all other requests/,
    directions: tooManyRequests,
  },
  {
    code: 'out-of-memory',
    kind: 'infeasible',
    pattern:
      /CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|HIP out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation|CUDA error: out of memory/i,
    directions: memoryTooHigh,
  },
  {
    code: 'host-out-of-memory',
    kind: 'environment',
    pattern:
      /std::bad_alloc|Cannot allocate memory|\[Errno 12\]|^MemoryError|Out of memory: Killed process|oom-kill/,
  },
  {
    code: 'graph-capture-failed',
    kind: 'infeasible',
    pattern: /Capture (?:cuda|cpu) graph failed:/i,
  },
  {
    code: 'kernel-fault',
    kind: 'infeasible',
    pattern:
      /an illegal memory access|device-side assert|misaligned address|unspecified launch failure|no kernel image is available/,
  },
  {
    code: 'collective-failure',
    kind: 'unknown',
    pattern:
      /caught collective operation timeout|NCCL error|nccl(?:Internal|System|Unhandled|Remote)\w*Error|ProcessGroupNCCL.*(?:abort|terminat)/i,
  },
  // utils/watchdog.py:154
  { code: 'watchdog-timeout', kind: 'unknown', pattern: /watchdog timeout \(/ },
];

/** argparse (`sglang serve: error: …`, exit 2) and llama-server (`error: invalid argument: …`). */
export const argumentError =
  /^(?:(?:[\w ./-]+: )?error: (?=argument --?|unrecognized arguments|ambiguous option|the following arguments|invalid argument|one of the arguments|expected )|(?=error while handling argument))(?<message>.*)$/;

/** Warm-up of the server itself (http_server.py `_execute_server_warmup`). */
export const warmUpFailed = /Initialization failed\. warmup error:?(?<message>.*)/;

/** Signs that the warm-up went to a proxy instead of to the server (field report A17). */
export const proxySigns =
  /ProxyError|Tunnel connection failed|Response \[(?:403|407|502|503|504)\]/;

/** A child was ended from outside, or by a fault in native code. */
export const childDied =
  /Subprocess (?<child>\w+) \(pid=\d+\) crashed with exit code (?<exit>-?\d+)|Rank \d+ scheduler died during initialization \(exit code: (?<rankExit>-?\d+)\)/;

/** Something below SGLang gave up: rank abort, segmentation fault, fatal Python error. */
export const nativeCrash =
  /Segmentation fault|Fatal Python error|terminate called after throwing|Signal (?:SIGSEGV|SIGABRT)|core dumped|Aborted \(/;
