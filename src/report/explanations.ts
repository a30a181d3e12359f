import type { MarkCode } from '../metrics/point-metrics.ts';

/** What a word of a report means. */
export interface Explanation {
  readonly means: string;
  /** What to do about it; absent where nothing needs doing. */
  readonly advice?: string;
}

/** Every mark a measurement can carry. */
export const MARK_EXPLANATIONS = {
  'too-short': {
    means:
      'Fewer than three waves of requests (requests / concurrency): there is no steady part to speak of, so the figure is that of the whole run, with its slow beginning and end.',
    advice: 'Raise workload.requests to at least three times the highest concurrency.',
  },
  'server-bound': {
    means:
      'Clearly fewer requests were decoding than were in flight (aggregate / per-request speed, Little’s law): the server held some back.',
    advice:
      'Look for the running limit in the start-up log; it can be below --max-running-requests.',
  },
  'cacheable-prompts': {
    means: 'Every prompt is the same, so the prefix cache may answer it and a draft may guess it.',
    advice: 'Use natural prompts: workload.prompts code, chat, or a file.',
  },
  'prefix-cache-hits': {
    means:
      'More than 5 % of the prompt tokens came from the prefix cache: less was computed than was asked.',
    advice: 'Use prompts that share no beginning, or accept it where your own load is like that.',
  },
  'short-answers': {
    means:
      'More than 3 % of the answers ended before the asked length: another amount of work than that of other measurements.',
    advice: 'Set workload.ignore_eos: true for answers of one length.',
  },
  'failed-requests': {
    means: 'Some requests failed. Failed ones count as no output, never as speed.',
    advice: 'See the errors of the requests: nightsweep export --requests.',
  },
  'estimated-tokens': {
    means:
      'The server did not count its tokens; they were estimated from the text. Not ranked beside counted ones.',
    advice: 'Use an endpoint that reports usage (workload.api native).',
  },
  'broken-invariant': {
    means:
      'Figures of the measurement contradict each other, such as a first token after the last. Not ranked.',
    advice: 'Report it with the export of the study.',
  },
  'client-limited': {
    means:
      'The load generator was the limit (late event loop, or a whole processor core used): the server could do more. Not ranked.',
    advice: 'Run it on a quieter machine or at lower concurrency.',
  },
  'not-flushed': {
    means:
      'The prefix cache could not be flushed before the measurement: earlier prompts may have helped.',
    advice: 'Take other clients off the server.',
  },
  'unsettled-warm-up': {
    means: 'The speed was still changing when the measurement began.',
    advice: 'Raise measure.warm_up.requests.',
  },
  imported: {
    means:
      'The figure was read from a table measured elsewhere: whole-run throughput, without its requests.',
  },
  'above-running-limit': {
    means:
      'More requests were in flight than the server runs at a time; the rest waited in its queue.',
    advice: 'Raise --max-running-requests, or give this concurrency no weight.',
  },
  'eager-decode': {
    means: 'Decoding ran without a captured graph at this batch size, which is slow.',
    advice:
      'Raise the largest captured batch size (--cuda-graph-max-bs, --cuda-graph-max-bs-decode from 0.5.20 on).',
  },
  'kv-pool-too-small': {
    means:
      'The KV cache does not hold all requests in flight at full length: the server waits or takes requests back.',
    advice: 'Raise --mem-fraction-static, or give this concurrency no weight.',
  },
  'state-slots': {
    means:
      'A hybrid model keeps recurrent state per request: its slots, not --max-running-requests, set how many run.',
    advice: 'Raise --max-mamba-cache-size or --mamba-full-memory-ratio, or draft fewer tokens.',
  },
  'value-not-in-force': {
    means:
      'The server runs another value than the one asked for: a trial of that value is not ranked.',
    advice: 'Ask for the value that runs; nightsweep flags STUDY --flag NAME shows the rules.',
  },
  simulated: {
    means: 'The server was nightsweep’s simulated one: its figures are a model, not a machine.',
  },
  'foreign-requests': {
    means: 'The server answered requests that were not ours. Not ranked.',
    advice: 'Take production clients off the server while it is measured.',
  },
  'server-count-differs': {
    means: 'The server counted more than 3 % other output tokens than arrived at the client.',
    advice: 'Look for aborted or repeated requests in its log.',
  },
  'gpu-clock-differs': {
    means:
      'The median clock of the GPUs was more than 3 % off that of the baseline at this concurrency: heat or a power cap may have made the difference, not the flags.',
    advice: 'Lock the clocks (nvidia-smi --lock-gpu-clocks), or measure again when it is cooler.',
  },
  'unnatural-prompts': {
    means: 'Speculation was measured on filler or random prompts, which says nothing about it.',
    advice: 'Measure speculation with natural prompts.',
  },
  'wrong-outputs': {
    means: 'Answers are broken where the baseline’s are sound. Not ranked, however fast.',
    advice: 'These flags break the model’s numerics: do not use them.',
  },
  partial: { means: 'The run broke off before its end. Not ranked.' },
} satisfies Readonly<Record<MarkCode, Explanation>>;

const MEMORY =
  'Lower --mem-fraction-static, --max-running-requests or the largest captured batch size.';

/** Causes of failed launches, by the code that the database and the report show. */
export const CAUSE_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  'argument-error': {
    means: 'SGLang’s argument parser refused the flags.',
    advice: 'nightsweep flags STUDY lists what this version knows.',
  },
  'collective-failure': {
    means: 'Communication between GPUs failed or hung (NCCL).',
    advice: 'Check NCCL_* variables and the links between the GPUs.',
  },
  crashed: {
    means: 'The server ended by itself under load, and its log does not say why.',
    advice: 'Read the log tail and the kernel log.',
  },
  'died-at-start': {
    means: 'The server ended by itself before it was ready, and its log does not say why.',
    advice: 'Read the whole log in the results folder.',
  },
  'disk-full': {
    means: 'A disk of the target is full.',
    advice: 'Make room (logs, model cache, /tmp, /dev/shm); the trial is tried again with --retry.',
  },
  equivalent: { means: 'The same effective configuration as another trial: launched once.' },
  'file-limit': {
    means: 'Too many open files.',
    advice: 'Raise LimitNOFILE= of the unit or ulimit -n.',
  },
  'gpu-fault': {
    means: 'The GPU or its driver failed (Xid, ECC, version mismatch).',
    advice: 'See dmesg and nvidia-smi; a reset or restart of the machine may be needed.',
  },
  'gpu-occupied': {
    means: 'Another process holds memory of a GPU.',
    advice: 'nvidia-smi shows it; end it or wait.',
  },
  'graph-capture-failed': {
    means: 'Capturing decode graphs failed with these flags.',
    advice: 'Try a smaller largest batch size or another attention backend.',
  },
  'graph-capture-out-of-memory': {
    means: 'Memory ran out while decode graphs were captured.',
    advice: MEMORY,
  },
  'host-out-of-memory': {
    means: 'The machine’s own memory ran out.',
    advice: 'See dmesg for the OOM killer; free memory or lower --cpu-offload-gb and the like.',
  },
  'invalid-combination': {
    means: 'SGLang refuses this combination of flags.',
    advice: 'Forbid it in constraints, so that no launch is spent on it.',
  },
  'kernel-fault': {
    means: 'A GPU kernel failed (illegal memory access, no kernel image).',
    advice: 'Another attention or MoE backend may work.',
  },
  'kv-pool-too-small': {
    means: 'No memory was left for the KV cache.',
    advice: 'Raise --mem-fraction-static.',
  },
  'missing-package': {
    means: 'A Python package that these flags need is missing or too old.',
    advice: 'Install it into the environment of the unit, or drop the value.',
  },
  'model-not-found': {
    means: 'The model or a file of it is not there.',
    advice: 'Check --model-path and the access to the model hub.',
  },
  'native-crash': {
    means: 'Native code crashed (segmentation fault, abort).',
    advice: 'Read the log tail; another backend may work.',
  },
  network: {
    means: 'A network connection failed while starting.',
    advice: 'Check proxies and the model hub; HF_HUB_OFFLINE=1 avoids it.',
  },
  'no-permission': {
    means: 'A file or device may not be used.',
    advice: 'Check User= of the unit and the owner of the model files.',
  },
  'not-installed': {
    means: 'SGLang or the program itself is not there.',
    advice: 'Check the path in ExecStart= and the Python environment.',
  },
  'not-ready': {
    means: 'The server ran but never answered a completion.',
    advice: 'Read the log tail; raise start.total for very large models.',
  },
  'out-of-memory': { means: 'GPU memory ran out.', advice: MEMORY },
  'pool-out-of-memory': {
    means: 'The KV pool ran out while serving.',
    advice: 'Lower --max-running-requests or raise --mem-fraction-static.',
  },
  'port-in-use': {
    means: 'Another process listens on the server’s port.',
    advice: 'ss -ltnp shows it; stop it, or use another port in the study.',
  },
  'process-killed': {
    means: 'A process of the server was killed from outside.',
    advice: 'See dmesg for the OOM killer.',
  },
  'scheduler-exception': {
    means: 'The scheduler failed with an exception while starting with these flags.',
    advice: 'The message names it; forbid the combination in constraints.',
  },
  'server-exception': {
    means: 'The server failed with an exception while serving.',
    advice: 'Read the log tail.',
  },
  'serving-hang': {
    means: 'Requests made no progress although the server ran on.',
    advice: 'Read the log tail; try again with --retry.',
  },
  'start-limit': {
    means: 'The start took longer than start.total.',
    advice: 'Raise start.total if the model is that large.',
  },
  'start-limit-hit': {
    means: 'systemd refused to start the unit again so soon.',
    advice: 'systemctl reset-failed UNIT.',
  },
  'startup-hang': {
    means: 'The start-up log stood still for start.stall.',
    advice: 'Raise start.stall for slow disks; else read the last stage.',
  },
  'state-cache-too-small': {
    means: 'The state cache of a hybrid (Mamba) model does not hold the requests.',
    advice: 'Raise --mem-fraction-static or lower --max-running-requests.',
  },
  stopped: { means: 'The server was stopped on request.' },
  'warm-up-failed': {
    means: 'The server’s own warm-up request failed.',
    advice: 'Read the log tail.',
  },
  'warm-up-through-proxy': {
    means: 'The server’s own warm-up went to a proxy.',
    advice: 'Set NO_PROXY=127.0.0.1,localhost in the unit.',
  },
  'watchdog-timeout': {
    means: 'SGLang’s watchdog ended a forward pass that took too long.',
    advice: 'Try again with --retry; raise --watchdog-timeout if it was only slow.',
  },
  'other-version': {
    means: 'Measured with another SGLang version than the rest of the study. Not ranked.',
    advice: 'Measure it again with the version of the study, or as a study of its own.',
  },
  'value-not-in-force': {
    means: 'The server reports another value than the trial asked for: it was not measured.',
    advice: 'Ask for the value that runs; nightsweep flags STUDY --flag NAME shows the rules.',
  },
};

/** Figures of reports and limits, with their formula. */
export const METRIC_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  accept_length: {
    means:
      'Output tokens per verify step, the bonus token included: output tokens / verify steps, both counted by the server. 1 is no gain from speculation. SGLang’s log line "accept len" is the same figure for the last 40 steps.',
  },
  decoding_concurrency: {
    means:
      'Requests that were decoding at a time: aggregate throughput / speed of one request (Little’s law). Clearly below the requests in flight means that the server held some back.',
  },
  e2e_ms: { means: 'End to end: from sending a request to its last token, in ms.' },
  goodput_fraction: {
    means:
      'Requests that met every limit of objective.slo / all requests that were sent, failed ones included. TTFT counts from when a request was due.',
  },
  failure_fraction: { means: 'Failed requests / all requests of a measurement.' },
  itl_ms: {
    means:
      'Inter-token latency: gap between two tokens of one request, in ms. Tokens that arrive in one chunk share its gap, so a multi-token step of speculation does not hide it.',
  },
  output_tokens_per_second: {
    means:
      'What is ranked: output tokens per second in the steady window (from the moment all C requests are in flight until fewer can be), or of the whole run if there are fewer than three waves. bench_serving’s output_throughput is always that of the whole run.',
  },
  per_request_tokens_per_second: {
    means:
      'Decode speed of one request: tokens after the first chunk / decode time, both summed over requests.',
  },
  requests_per_second: { means: 'Completed requests / duration of the measurement.' },
  score: {
    means:
      'relative: exp(Σ w_c ln(T_c / B_c)), the weighted geometric mean of the ratios to the baseline; time: Σ w_c T_c; tokens: 1 / Σ (w_c / T_c). w is the profile, T the trial’s and B the baseline’s throughput at c requests in flight.',
  },
  short_fraction: {
    means: 'Completed requests that ended before the asked length / completed requests.',
  },
  tie: {
    means:
      'Two trials tie when their difference is inside its interval, at a level that allows for the number of candidates. Of tied trials the one that changes production least leads.',
  },
  tpot_ms: {
    means:
      'Time per output token: (last token − first token) / (tokens − 1), in ms; one figure per request. TTFT is left out, as in SGLang’s bench_serving; guidellm’s time_per_output_token includes it.',
  },
  ttft_ms: {
    means:
      'Time to first token: from sending a request to its first output, in ms, queueing included.',
  },
  whole_run_tokens_per_second: {
    means:
      'Output tokens of completed requests / time from the first send to the last end; contains ramp and drain. The figure of bench_serving and of most tables.',
  },
  worst_concurrency: {
    means:
      'Smallest T_c / B_c over all concurrencies with weight: what the worst-served load keeps of the baseline.',
  },
};

export const EXPLANATION_KINDS = {
  mark: MARK_EXPLANATIONS,
  cause: CAUSE_EXPLANATIONS,
  metric: METRIC_EXPLANATIONS,
} satisfies Readonly<Record<string, Readonly<Record<string, Explanation>>>>;
