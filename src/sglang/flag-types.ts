import type { FlagType } from './help.ts';

/**
 * Value types of SGLang's flags. `--help` does not print them, so they are data: read from the
 * `type=` of every argument in SGLang's server_args.py (and arg_groups/fields) of 0.4.9, 0.5.2,
 * 0.5.6, 0.5.10, 0.5.12, 0.5.13, 0.5.14, 0.5.16, 0.5.18, 0.5.19, 0.5.20 and 0.5.23. A flag that is not listed takes text
 * as far as we know: its values are not checked, since refusing a good one would be worse.
 */
const INTEGER_FLAGS = names(`
  asr-max-buffer-seconds asr-max-concurrent-sessions attention-context-parallel-size
  attention-data-parallel-size attn-cp-size attn-dp-size base-gpu-id batch-notify-size
  c128-page-size chunked-prefill-size constrained-json-max-whitespace-cnt context-bucket
  context-length cpu-offload-gb cuda-graph-bs cuda-graph-bs-decode cuda-graph-bs-prefill
  cuda-graph-max-bs cuda-graph-max-bs-decode cuda-graph-max-bs-prefill
  cuda-graph-max-seq-len-prefill cuda-graph-prefill-max-context data-parallel-size dcp-size
  debug-tensor-dump-layers decode-context-parallel-size decode-log-interval decoupled-spec-rank
  default-priority-value detokenizer-worker-num disaggregation-bootstrap-port
  disaggregation-decode-dp disaggregation-decode-extra-slots
  disaggregation-decode-polling-interval disaggregation-decode-tp disaggregation-prefill-pp
  dist-timeout dllm-block-size dp-size ds-heavy-channel-num ds-heavy-token-num
  ds-sparse-decode-threshold dsa-triton-union dwdp-size dynamic-batch-tokenizer-batch-size
  elastic-ep-initial-size elastic-ep-join-rank-offset encoder-bootstrap-port
  engine-info-bootstrap-port ep ep-num-redundant-experts ep-size eplb-rebalance-layers-per-chunk
  eplb-rebalance-num-iterations expert-distribution-recorder-buffer-size expert-parallel-size
  fuseep-mode gated-launch-port gc-threshold gpu-id-step grpc-http-sidecar-port grpc-port
  grpc-response-timeout-secs hicache-size hicache-storage-prefetch-retry-max-attempts
  hicache-storage-prefetch-retry-poll-interval http2-initial-connection-window-size
  http2-max-concurrent-streams int8-mamba-ckpt-size kt-cpuinfer kt-max-deferred-experts-per-token
  kt-num-gpu-experts kt-threadpool-count kv-canary-sweep-interval linear-replayssm-cache-len
  load-snapshot-publish-interval log-requests-level mamba-cache-philox-rounds
  mamba-max-states-per-path mamba-track-interval max-ep-size max-loaded-loras max-lora-chunk-size
  max-lora-rank max-loras-per-batch max-mamba-cache-size max-micro-batch-size max-prefill-tokens
  max-queued-requests max-running-requests max-total-tokens media-url-max-file-size-mb
  min-free-slots-delay mm-io-worker-num mm-max-concurrent-calls mm-per-request-timeout
  mm-preprocess-cache-size-mb mm-processor-worker-num moe-data-parallel-size moe-dense-tp-size
  moe-dp-size multi-item-scoring-delimiter nccl-port nnodes node-rank num-continuous-decode-steps
  num-reserved-decode-tokens numa-node offload-group-size offload-num-in-group
  offload-prefetch-step optimistic-prefill-attempts optimistic-prefill-retries page-size
  paged-experts-num-resident piecewise-cuda-graph-max-tokens pipeline-parallel-size port
  pp-async-batch-depth pp-max-micro-batch-size pp-size prefill-decode-interval
  prefill-decode-interval-min-bs prefill-delayer-max-delay-passes prefill-max-requests
  priority-scheduling-preemption-threshold random-seed
  remote-instance-weight-loader-seed-instance-service-port return-aux-hidden-state-layer-ids
  sampling-mask-max-tokens scheduler-recv-interval shared-experts-tp-size sm-group-num
  smg-http-sidecar-port speculative-dflash-block-size speculative-dflash-draft-window-size
  speculative-domino-candidate-pool-size speculative-draft-sink-size speculative-draft-window-size
  speculative-dspark-block-size speculative-eagle-topk speculative-ngram-branch-length
  speculative-ngram-capacity speculative-ngram-external-corpus-max-tokens
  speculative-ngram-external-sam-budget speculative-ngram-max-bfs-breadth
  speculative-ngram-max-match-window-size speculative-ngram-max-trie-depth
  speculative-ngram-min-bfs-breadth speculative-ngram-min-match-window-size
  speculative-num-draft-tokens speculative-num-steps stream-interval swa-prefix-tails
  tensor-parallel-size tokenizer-worker-num torch-compile-max-bs tp-size
  triton-attention-num-kv-splits triton-attention-split-tile-size weight-cache-timeout
  weight-loader-prefetch-num-threads
`);

/** Float flags; see {@link INTEGER_FLAGS}. */
const NUMBER_FLAGS = names(`
  bucket-e2e-request-latency bucket-inter-token-latency bucket-time-to-first-token
  disaggregation-decode-host-receive-threshold dynamic-batch-tokenizer-batch-timeout
  elastic-ep-scale-timeout eplb-min-rebalancing-utilization-threshold gc-warning-threshold-secs
  hicache-host-memory-fraction hicache-ratio hybrid-kvcache-ratio load-watch-interval
  lora-drain-wait-threshold mamba-full-memory-ratio mem-fraction-static
  prefill-delayer-forward-passes-buckets prefill-delayer-max-delay-ms
  prefill-delayer-queue-min-ratio prefill-delayer-token-usage-low-watermark
  prefill-delayer-wait-seconds-buckets schedule-conservativeness soft-watchdog-timeout
  speculative-accept-threshold-acc speculative-accept-threshold-single swa-full-tokens-ratio
  tbo-token-distribution-threshold watchdog-timeout
`);

/** Flags that SGLang reads with `json.loads`; see {@link INTEGER_FLAGS}. */
const JSON_FLAGS = names(`
  cuda-graph-config decoupled-spec-connect-endpoints default-chat-template-kwargs
  extra-metric-labels forward-hooks limit-mm-data-per-request mm-process-config
  preferred-sampling-params radix-eviction-policy-config
  remote-instance-weight-loader-send-weights-group-ports sidecar-args
  unified-cache-external-linker-config
`);

function names(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Type of a valued flag by name (any alias), or undefined when we do not know. */
export function knownFlagType(name: string): FlagType | undefined {
  if (INTEGER_FLAGS.has(name)) return 'integer';
  if (NUMBER_FLAGS.has(name)) return 'number';
  if (JSON_FLAGS.has(name)) return 'json';
  return undefined;
}
