import type { Launch } from './launch.ts';
import type { ServerLog } from './log.ts';
import { type Capacity, checkGraphMemory, checkKernels, GPU_GB } from './memory-model.ts';
import { PythonError } from './python-error.ts';
import { numberOf, textOf } from './resolution.ts';
import type { SimClock } from './sim-clock.ts';
import type { Stage } from './switches.ts';

/** Shares of the start's duration; they sum to 1. */
const SHARE: Readonly<Record<Stage, number>> = {
  arguments: 0.1,
  load: 0.5,
  'kv-cache': 0.05,
  capture: 0.3,
  'warm-up': 0.05,
};

/** Thrown when a switch ends the process during its start. */
export class SimulatedExitError extends Error {}

/** One start: logs what SGLang logs, takes as long as asked, fails where it should. */
export class StartUp {
  readonly #launch: Launch;
  readonly #log: ServerLog;
  readonly #clock: SimClock;
  readonly #signal: AbortSignal;
  readonly #startMs: number;

  constructor(launch: Launch, log: ServerLog, clock: SimClock, signal: AbortSignal) {
    this.#launch = launch;
    this.#log = log;
    this.#clock = clock;
    this.#signal = signal;
    this.#startMs = launch.switches.startSeconds * 1000;
  }

  /** Spends a stage's time; stalls, exits or runs out of memory there when a switch says so. */
  async #spend(stage: Stage, share = SHARE[stage]): Promise<void> {
    const { stallAt, exitAt, oomAt, portTakenAt, diskFullAt } = this.#launch.switches;
    await this.#clock.sleep(share * this.#startMs, this.#signal);
    if (stallAt === stage) await this.#clock.sleep(2 ** 30, this.#signal);
    if (exitAt === stage) throw new SimulatedExitError(stage);
    if (oomAt === stage) throw outOfMemory();
    if (portTakenAt === stage) throw systemError('[Errno 98] Address already in use', 'bind');
    if (diskFullAt === stage) throw systemError('[Errno 28] No space left on device', 'write');
  }

  /** Main process: arguments. */
  async readArguments(): Promise<void> {
    const { fields, warnings } = this.#launch;
    for (const warning of warnings) this.#log.main(warning);
    await this.#spend('arguments');
    this.#log.main(`server_args=${pythonDict(fields)}`);
  }

  /**
   * Scheduler: weights, pools, graphs.
   *
   * @throws PythonError as the scheduler would
   */
  async loadScheduler(): Promise<Capacity> {
    const { fields, memory } = this.#launch;
    this.#log.line('Init torch distributed begin.');
    this.#log.line('Init torch distributed ends. elapsed=1.21 s, mem usage=0.46 GB');
    checkKernels(fields);
    this.#log.line(`Load weight begin. avail mem=${GPU_GB.toFixed(2)} GB`);
    await this.#loadShards();
    const after = memory.state === 'fits' ? GPU_GB - memory.capacity.weightGb : 0.4;
    this.#log.line(
      `Load weight end. elapsed=${(SHARE.load * (this.#startMs / 1000)).toFixed(2)} s, type=Qwen3_5MoeForConditionalGeneration, avail mem=${after.toFixed(2)} GB, mem usage=${(GPU_GB - after).toFixed(2)} GB.`,
    );
    if (memory.state === 'fails') throw memory.error;
    const { capacity } = memory;
    await this.#allocate(capacity);
    await this.#capture(capacity);
    this.#summary(capacity);
    return capacity;
  }

  async #loadShards(): Promise<void> {
    const shards = 8;
    for (let i = 1; i < shards; i += 1) {
      await this.#clock.sleep((SHARE.load * this.#startMs) / shards, this.#signal);
      this.#log.raw(
        `Loading safetensors checkpoint shards: ${Math.round((100 * i) / shards)}% Completed | ${i}/${shards} [00:0${i}<00:0${shards - i},  1.21it/s]`,
      );
    }
    await this.#spend('load', SHARE.load / shards);
  }

  async #allocate(capacity: Capacity): Promise<void> {
    const half = (capacity.kvCacheGb / 2).toFixed(2);
    const states = capacity.mambaGb;
    await this.#spend('kv-cache');
    this.#log.line(
      `Mamba Cache is allocated. max_mamba_cache_size: ${capacity.maxMambaCacheSize}, conv_state size: ${(states * 0.02).toFixed(2)}GB, ssm_state size: ${(states * 0.5).toFixed(2)}GB intermediate_ssm_state_cache size: ${(states * 0.46).toFixed(2)}GB intermediate_conv_window_cache size: ${(states * 0.02).toFixed(2)}GB `,
    );
    this.#log.line(
      `KV Cache is allocated. dtype: torch.bfloat16, #tokens: ${capacity.maxTotalTokens}, K size: ${half} GB, V size: ${half} GB`,
    );
    if (capacity.maxRunningRequests < capacity.requestedMaxRunningRequests) {
      this.#log.line(
        `max_running_requests was reduced from the requested ${capacity.requestedMaxRunningRequests} to ${capacity.maxRunningRequests} (per dp worker) due to the available KV cache capacity.`,
      );
    }
    this.#log.line(`Memory pool end. avail mem=${capacity.freeGb.toFixed(2)} GB`);
  }

  async #capture(capacity: Capacity): Promise<void> {
    const { fields } = this.#launch;
    const sizes = capacity.graphBatchSizes;
    if (sizes.length === 0) {
      await this.#spend('capture', 0.02);
      return;
    }
    const speculative = textOf(fields, 'speculative_algorithm') !== undefined;
    const name = speculative ? 'target verify' : 'target decode';
    const perRequest = speculative ? (numberOf(fields, 'speculative_num_draft_tokens') ?? 1) : 1;
    this.#log.line(
      `Capture ${name} CUDA graph begin. backend=full, num_tokens_per_req=${perRequest}, bs=[${sizes.join(', ')}], avail mem=${capacity.freeGb.toFixed(2)} GB`,
    );
    checkGraphMemory(capacity);
    await this.#spend('capture', SHARE.capture * (speculative ? 0.6 : 1));
    const seconds = (SHARE.capture * this.#startMs) / 1000;
    this.#log.line(
      `Capture ${name} CUDA graph end. elapsed=${seconds.toFixed(2)} s, mem usage=0.62 GB, avail mem=${(capacity.freeGb - 0.62).toFixed(2)} GB.`,
    );
    if (!speculative) return;
    this.#log.line(
      `Capture draft decode CUDA graph begin. backend=full, num_tokens_per_req=1, bs=[${sizes.join(', ')}], avail mem=${(capacity.freeGb - 0.62).toFixed(2)} GB`,
    );
    await this.#clock.sleep(SHARE.capture * 0.4 * this.#startMs, this.#signal);
    this.#log.line(
      `Capture draft decode CUDA graph end. elapsed=${(seconds * 0.4).toFixed(2)} s, mem usage=0.11 GB, avail mem=${(capacity.freeGb - 0.73).toFixed(2)} GB.`,
    );
  }

  #summary(capacity: Capacity): void {
    const { fields, switches } = this.#launch;
    const running = switches.hideEffective
      ? ''
      : `max_running_requests=${capacity.maxRunningRequests}, `;
    this.#log.line(
      `max_total_num_tokens=${capacity.maxTotalTokens}, chunked_prefill_size=${pythonValue(fields['chunked_prefill_size'])}, max_prefill_tokens=${pythonValue(fields['max_prefill_tokens'])}, ${running}context_len=${capacity.contextLength}, available_gpu_mem=${(capacity.freeGb - 0.73).toFixed(2)} GB`,
    );
  }

  /** Between the bound port and the ready line. */
  async warmUp(): Promise<void> {
    await this.#spend('warm-up');
  }
}

/** CUDA's out-of-memory error, for switches that ask for it. */
export function outOfMemory(): PythonError {
  return new PythonError(
    'torch.OutOfMemoryError',
    'CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 94.97 GiB of which 1.06 GiB is free. Including non-PyTorch memory, this process has 93.90 GiB memory in use.',
    {
      file: 'srt/model_executor/model_runner.py',
      line: 1450,
      name: 'forward',
      source: 'return self.model.forward(',
    },
  );
}

/** An error of the operating system, for switches that ask for it. */
function systemError(message: string, call: string): PythonError {
  return new PythonError('OSError', message, {
    file: 'srt/utils/network.py',
    line: 118,
    name: call,
    source: `sock.${call}(`,
  });
}

/** A value as Python prints it. */
function pythonValue(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return pythonDict(value);
  return typeof value === 'number' ? String(value) : 'None';
}

function pythonDict(fields: object): string {
  const entries = Object.entries(fields).map(([name, value]) => `'${name}': ${pythonValue(value)}`);
  return `{${entries.join(', ')}}`;
}
