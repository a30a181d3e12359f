/** A flag that got another name. `old` stands for the same value under `successor`. */
export interface RenamedFlag {
  readonly old: string;
  readonly successor: string;
  /** Last release that accepts the old name, whether or not its help shows it. */
  readonly acceptedThrough: string;
}

/**
 * Renamed flags whose value means the same under both names.
 *
 * Read from server_args.py of the releases 0.4.9 to 0.5.23 (DeprecatedAliasStoreAction and
 * DeprecatedStoreTrueAction with the same destination): the old names were aliases until 0.5.19
 * and are "unrecognized arguments" from 0.5.20 on.
 */
export const RENAMED_FLAGS: readonly RenamedFlag[] = [
  ...[
    ['cuda-graph-max-bs', 'cuda-graph-max-bs-decode'],
    ['cuda-graph-bs', 'cuda-graph-bs-decode'],
    ['piecewise-cuda-graph-max-tokens', 'cuda-graph-max-bs-prefill'],
    ['piecewise-cuda-graph-tokens', 'cuda-graph-bs-prefill'],
    ['mamba-scheduler-strategy', 'mamba-radix-cache-strategy'],
    ['stream-output', 'incremental-streaming-output'],
    ['speculative-dflash-draft-window-size', 'speculative-draft-window-size'],
    ['nsa-prefill-backend', 'dsa-prefill-backend'],
    ['nsa-decode-backend', 'dsa-decode-backend'],
    ['enable-prefill-context-parallel', 'enable-prefill-cp'],
    ['enable-dsa-prefill-context-parallel', 'enable-prefill-cp'],
    ['enable-nsa-prefill-context-parallel', 'enable-prefill-cp'],
    ['enable-gdn-replayssm-spec', 'enable-linear-replayssm-spec'],
  ].map(([old = '', successor = '']) => ({ old, successor, acceptedThrough: '0.5.19' })),
  {
    old: 'piecewise-cuda-graph-compiler',
    successor: 'cuda-graph-tc-compiler',
    acceptedThrough: '0.5.19',
  },
  { old: 'impl', successor: 'model-impl', acceptedThrough: '0.4.9' },
  {
    old: 'max-micro-batch-size',
    successor: 'pp-max-micro-batch-size',
    acceptedThrough: '0.5.2',
  },
];

/**
 * Retired flags without a name of the same meaning, and what to write instead. Same source as
 * {@link RENAMED_FLAGS}; for what has no replacement at all, the text says so.
 */
export const RETIRED_FLAGS: Readonly<Record<string, string>> = {
  'disable-cuda-graph':
    '--cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled',
  'enable-breakable-cuda-graph': '--cuda-graph-backend-prefill breakable',
  'disable-piecewise-cuda-graph': '--cuda-graph-backend-prefill disabled',
  'enforce-piecewise-cuda-graph': '--cuda-graph-backend-prefill tc_piecewise',
  'enable-piecewise-cuda-graph': 'nothing: it became the default',
  'enable-flashinfer-allreduce-fusion': '--flashinfer-allreduce-fusion-backend auto',
  'enable-dp-attention': '--attn-dp-size',
  'monokernel-backend': '--enable-amd-monokernel',
  'elastic-ep-rejoin': '--elastic-ep-join-mode recover',
  'enable-expert-distribution-metrics': '--expert-balancedness-report-mode',
  'hybrid-kvcache-ratio': '--swa-full-tokens-ratio',
  'prefill-cp-mode': '--cp-strategy',
  'dsa-prefill-cp-mode': '--cp-strategy',
  'nsa-prefill-cp-mode': '--cp-strategy',
  'keep-mm-feature-on-device': '--mm-feature-transport cuda_ipc',
  'disable-fast-image-processor': '--image-processor-backend pil',
  'enable-nan-detection': 'the environment variable SGLANG_SPEC_NAN_DETECTION=1',
  'enable-ep-moe': '--ep-size with --moe-runner-backend',
  'enable-deepep-moe': '--moe-a2a-backend deepep',
  'enable-flashinfer-moe': '--moe-runner-backend flashinfer_cutlass',
  'enable-flashinfer-cutlass-moe': '--moe-runner-backend flashinfer_cutlass',
  'enable-flashinfer-trtllm-moe': '--moe-runner-backend flashinfer_trtllm',
  'enable-flashinfer-mxfp4-moe': '--moe-runner-backend flashinfer_mxfp4',
  'enable-triton-kernel-moe': '--moe-runner-backend triton_kernel',
  'prefill-round-robin-balance': 'nothing: it had become without effect',
  'collect-tokens-histogram': 'nothing: it had become without effect',
  'torchao-config': 'nothing: torchao quantization was removed',
  'enable-double-sparsity': 'nothing: double sparsity was removed',
};

/**
 * True when `version` is at most `limit`; undefined when the version cannot be read.
 * Post-releases (`0.5.19.post1`) count as their release.
 */
export function isVersionAtMost(version: string, limit: string): boolean | undefined {
  const mine = releaseNumbers(version);
  const theirs = releaseNumbers(limit);
  if (mine === undefined || theirs === undefined) return undefined;
  for (const [i, number] of theirs.entries()) {
    const own = mine[i] ?? 0;
    if (own !== number) return own < number;
  }
  return true;
}

function releaseNumbers(version: string): number[] | undefined {
  const release = /^v?(\d+(?:\.\d+)*)/.exec(version)?.[1];
  return release?.split('.').map(Number);
}
