import type { Capacity } from './memory-model.ts';
import type { PromptKind } from './prompt.ts';
import { type Fields, numberOf, textOf } from './resolution.ts';

/** Draft steps, branches and verify width; undefined without speculation. */
export interface Speculation {
  readonly steps: number;
  readonly topk: number;
  readonly draftTokens: number;
}

/** Everything that speed depends on, resolved. */
export interface PerformanceSettings {
  readonly speculation: Speculation | undefined;
  /** Requests that run at a time. */
  readonly runningLimit: number;
  /** Running limit that was asked for: below it, no state slot is short. */
  readonly requestedLimit: number;
  /** Largest batch with a captured decode graph; 0 without graphs. */
  readonly graphMaxBatch: number;
  /** Multiplies every decode step. */
  readonly decodeFactor: number;
  /** Multiplies every prefill. */
  readonly prefillFactor: number;
  readonly chunkedPrefillTokens: number;
  readonly maxPrefillTokens: number;
  readonly maxTotalTokens: number;
  readonly mixedChunk: boolean;
}

type Knots = readonly (readonly [batch: number, ms: number])[];

/** Decode step without speculation, ms by running requests: fitted to seed-case, `no_mtp`. */
const PLAIN_STEP_MS: Knots = [
  [1, 9.13],
  [4, 12.6],
  [16, 16.76],
  [32, 19.7],
  [64, 20.35],
  [128, 38.05],
];
/** Draft and verify with one step and top-k 1, ms by running requests: fitted to `mtp`. */
const MTP_CYCLE_MS: Knots = [
  [1, 16.1],
  [4, 16.93],
  [16, 23.95],
  [25, 27.65],
  [29, 31.6],
  [48, 45],
  [128, 98],
];
/** Share of the fitted cycle that is one draft step; the rest is verifying two tokens. */
const DRAFT_SHARE = 0.27;
/** Launch-bound work of one eager decode step, hidden by a graph. */
const EAGER_MS = 9;
/** One prefill batch, and each request and each uncached token in it. */
const PREFILL_MS = { batch: 18, request: 9, token: 0.085 } as const;
/** KV tokens read per step that add as much time as the step itself has. */
const KV_TOKENS_DOUBLING = 4e6;

/** Chance that the first draft token is right, and what each further depth keeps of it. */
const ACCEPT: Readonly<Record<PromptKind, { first: number; decay: number }>> = {
  repeated: { first: 0.99, decay: 0.86 },
  code: { first: 0.86, decay: 0.85 },
  text: { first: 0.75, decay: 0.82 },
  random: { first: 0.32, decay: 0.6 },
};

/** Interpolates between knots in log(batch); beyond the last, the last slope goes on. */
function atBatch(knots: Knots, batch: number): number {
  let index = knots.findIndex(([size]) => size >= batch);
  if (index < 0) index = knots.length - 1;
  const [highSize, highMs] = knots[Math.max(1, index)] ?? [1, 0];
  const [lowSize, lowMs] = knots[Math.max(0, index - 1)] ?? [1, 0];
  if (highSize === lowSize || batch <= (knots[0]?.[0] ?? 1)) return knots[0]?.[1] ?? highMs;
  return lowMs + ((highMs - lowMs) * (batch - lowSize)) / (highSize - lowSize);
}

/**
 * Chance that the draft token at `depth` (1 = first) is accepted when all before it were.
 * More branches help, as far as the verify width holds them.
 */
export function acceptChance(
  kind: PromptKind,
  depth: number,
  { topk, draftTokens, steps }: Speculation,
): number {
  const { first, decay } = ACCEPT[kind];
  const single = first * decay ** (depth - 1);
  const branches = Math.min(topk, Math.max(1, (draftTokens - 1) / Math.max(1, steps)));
  return 1 - (1 - single) ** (1 + 0.45 * (branches - 1));
}

/** Expected tokens per verify step, bonus token included; 1 without speculation. */
export function expectedAcceptLength(
  kind: PromptKind,
  speculation: Speculation | undefined,
): number {
  if (speculation === undefined) return 1;
  let length = 1;
  let chance = 1;
  for (let depth = 1; depth <= speculation.steps; depth += 1) {
    chance *= acceptChance(kind, depth, speculation);
    length += chance;
  }
  return length;
}

/** Time of one decode step (or draft-and-verify cycle) of `batch` requests, in ms. */
export function decodeStepMs(
  settings: PerformanceSettings,
  batch: number,
  contextTokens: number,
): number {
  const { speculation, graphMaxBatch, decodeFactor } = settings;
  let ms: number;
  if (speculation === undefined) ms = atBatch(PLAIN_STEP_MS, batch);
  else {
    const { steps, topk, draftTokens } = speculation;
    const cycle = atBatch(MTP_CYCLE_MS, batch);
    // More verified tokens touch more experts: nearly free at one request, dear in a full batch.
    const perToken = 0.035 + 0.075 * Math.min(1, batch / 32);
    const verify = 1 + perToken * (Math.max(1, draftTokens) - 2);
    const draft = Math.max(0.3, steps) * (1 + 0.12 * (topk - 1));
    ms = cycle * ((1 - DRAFT_SHARE) * verify + DRAFT_SHARE * draft);
  }
  if (batch > graphMaxBatch) ms += EAGER_MS * (1 + (speculation?.steps ?? 0) * 0.5);
  return ms * decodeFactor * (1 + contextTokens / KV_TOKENS_DOUBLING);
}

/** Time of one prefill batch, in ms. */
export function prefillMs(
  settings: PerformanceSettings,
  requests: number,
  uncachedTokens: number,
): number {
  // The draft head extends its own cache after each prefill.
  const draft = settings.speculation === undefined ? 0.85 : 1;
  const { batch, request, token } = PREFILL_MS;
  return (batch + request * requests + token * uncachedTokens) * settings.prefillFactor * draft;
}

/** Small effects of flags on the decode step: below 1 is faster. */
function decodeFactor(fields: Fields, environment: Readonly<Record<string, string>>): number {
  let factor = 1;
  const moe = textOf(fields, 'moe_runner_backend') ?? 'auto';
  const triton = moe === 'auto' || moe === 'triton';
  if (fields['enable_fused_moe_sum_all_reduce'] === true && triton) factor *= 0.982;
  if (!triton) factor *= 1.03;
  const backend = textOf(fields, 'attention_backend') ?? 'flashinfer';
  if (backend === 'triton') factor *= 1.012;
  else if (backend === 'torch_native' || backend === 'flex_attention') factor *= 1.6;
  if (fields['disable_overlap_schedule'] === true) factor *= 1.05;
  if (fields['enable_torch_compile'] === true) factor *= 0.995;
  if (fields['disable_custom_all_reduce'] === true) factor *= 1.004;
  factor *= { Ring: 1, Tree: 1.008 }[environment['NCCL_ALGO'] ?? ''] ?? 1.003;
  factor *= { LL: 1, Simple: 1.015, LL128: 1.004 }[environment['NCCL_PROTO'] ?? ''] ?? 1.003;
  const tp = numberOf(fields, 'tp_size') ?? 1;
  return factor * (4 / Math.max(1, tp)) ** (tp < 4 ? 0.3 : 0.55);
}

function prefillFactor(fields: Fields): number {
  const chunk = numberOf(fields, 'chunked_prefill_size') ?? 8192;
  const chunkCost = chunk > 0 ? 1 + 120 / chunk : 1;
  const graph = fields['disable_prefill_cuda_graph'] === true ? 1.03 : 1;
  return (chunkCost / (1 + 120 / 8192)) * graph;
}

/** Reads from resolved fields and the environment what speed depends on. */
export function performanceSettings(
  fields: Fields,
  environment: Readonly<Record<string, string>>,
  capacity: Capacity,
): PerformanceSettings {
  const chunk = numberOf(fields, 'chunked_prefill_size') ?? 8192;
  const speculative = textOf(fields, 'speculative_algorithm') !== undefined;
  return {
    speculation: speculative
      ? {
          steps: Math.max(0, numberOf(fields, 'speculative_num_steps') ?? 3),
          topk: numberOf(fields, 'speculative_eagle_topk') ?? 1,
          draftTokens: numberOf(fields, 'speculative_num_draft_tokens') ?? 4,
        }
      : undefined,
    runningLimit: capacity.maxRunningRequests,
    requestedLimit: capacity.requestedMaxRunningRequests,
    graphMaxBatch: capacity.graphBatchSizes.at(-1) ?? 0,
    decodeFactor: decodeFactor(fields, environment),
    prefillFactor: prefillFactor(fields),
    chunkedPrefillTokens: chunk > 0 ? chunk : Infinity,
    maxPrefillTokens: numberOf(fields, 'max_prefill_tokens') ?? 16_384,
    maxTotalTokens: capacity.maxTotalTokens,
    mixedChunk: fields['enable_mixed_chunk'] === true,
  };
}
