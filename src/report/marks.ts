import type { Mark, MarkCode } from '../metrics/point-metrics.ts';
import { percent } from './figures.ts';

/** A mark in words. */
export interface MarkText {
  /** A clause about the measurement. */
  readonly text: string;
  /** What the user can do about it; absent where nothing needs doing. */
  readonly advice?: string;
}

type Facts = Mark['facts'];

const formatters: Readonly<Record<MarkCode, (facts: Facts) => MarkText>> = {
  'too-short': (facts) => ({
    text: `${figure(facts, 'waves')} waves of requests, fewer than ${figure(facts, 'needed')}: whole-run figure, ramp and drain included`,
    advice: 'raise workload.requests for a steady window',
  }),
  'server-bound': (facts) => ({
    text: `bound by the server at about ${Math.round(Number(facts['decodingConcurrency']))}`,
    advice:
      'fewer requests were decoding than were in flight: look for the running limit in the start-up log, which can be below --max-running-requests',
  }),
  'cacheable-prompts': () => ({
    text: 'every prompt is the same',
    advice: 'use natural prompts: caches and drafts do better on repeated ones than on your load',
  }),
  'prefix-cache-hits': (facts) => ({
    text: `${share(facts, 'cachedFraction')} of the prompt tokens came from the prefix cache`,
    advice: 'flush the cache between measurements, or use prompts that share no beginning',
  }),
  'short-answers': (facts) => ({
    text: `${share(facts, 'shortFraction')} of the answers ended early`,
    advice: 'set workload.ignore_eos for answers of one length',
  }),
  'failed-requests': (facts) => ({
    text: `${figure(facts, 'failed')} requests failed (${share(facts, 'failureFraction')})`,
    advice: 'see the errors of the requests in the export',
  }),
  'estimated-tokens': () => ({
    text: 'tokens were estimated, not counted by the server',
    advice: 'use an endpoint that reports usage; estimated figures are not ranked with exact ones',
  }),
  'broken-invariant': (facts) => ({
    text: `figures contradict each other (${String(facts['what'] ?? 'unknown')}): not ranked`,
    advice: 'please report this with the export of the study',
  }),
  'client-limited': (facts) => ({
    text: `the load generator was the limit (event loop late by ${figure(facts, 'eventLoopDelayP99Ms')} ms, ${share(facts, 'cpuFraction')} CPU): not ranked`,
    advice: 'run it on a quieter machine or at lower concurrency',
  }),
  'not-flushed': () => ({
    text: 'the prefix cache could not be flushed before',
    advice: 'something else may be using the server',
  }),
  'unsettled-warm-up': () => ({
    text: 'the speed was still changing when the measurement began',
    advice: 'raise measure.warm_up.requests',
  }),
  imported: (facts) => ({
    text: `imported from ${String(facts['source'] ?? 'a file')}: whole-run figure, measured elsewhere`,
  }),
  'above-running-limit': (facts) => ({
    text: `above the server's running limit of ${figure(facts, 'runningLimit')}: the rest waits in its queue`,
    advice: 'raise --max-running-requests, or give this concurrency no weight',
  }),
  'eager-decode': (facts) => ({
    text: `above the largest captured graph of ${figure(facts, 'largestDecodeGraph')}: decoding runs eager`,
    advice: 'raise --cuda-graph-max-bs-decode, or sweep it',
  }),
  'kv-pool-too-small': (facts) => ({
    text: `the KV pool holds ${figure(facts, 'kvTokens')} tokens, these requests need ${figure(facts, 'neededTokens')}`,
    advice: 'raise --mem-fraction-static, or measure shorter requests',
  }),
  'state-slots': (facts) => ({
    text: `the state cache has ${figure(facts, 'stateSlots')} slots, enough for ${figure(facts, 'runningLimit')} requests`,
    advice: 'raise --max-mamba-cache-size or --mamba-full-memory-ratio, or draft fewer tokens',
  }),
  'value-not-in-force': (facts) => ({
    text: `${String(facts['parameter'])}: asked ${String(facts['asked'])}, the server runs ${String(facts['runs'])}`,
    advice: 'the value had no effect: its figures are those of the value that runs',
  }),
  simulated: () => ({ text: 'simulated server' }),
  'foreign-requests': () => ({
    text: 'the server answered requests that are not ours: not ranked',
    advice: 'take production clients off the server while it is measured',
  }),
  'server-count-differs': (facts) => ({
    text: `the server counted ${share(facts, 'gapFraction')} more output tokens than arrived here`,
    advice: 'look for aborted or repeated requests in the server’s log',
  }),
  'unnatural-prompts': (facts) => ({
    text: `speculation judged on filler or random prompts (accept length ${figure(facts, 'acceptLength')})`,
    advice: 'measure speculation with natural prompts: code, chat, or a file of your own',
  }),
  'wrong-outputs': (facts) => ({
    text: `answers are broken where the baseline’s are sound (${String(facts['what'] ?? 'unknown')}): not ranked`,
    advice: 'these flags break the model’s numerics: do not use them',
  }),
  'gpu-clock-differs': (facts) => ({
    text: `the GPUs ran at ${figure(facts, 'clockMhz')} MHz, the baseline's at ${figure(facts, 'baselineMhz')} MHz${String(facts['throttled'] ?? '') === '' ? '' : ` (held back: ${String(facts['throttled'])})`}`,
    advice:
      'heat or a power cap may have made the difference, not the flags: lock the clocks (nvidia-smi --lock-gpu-clocks), or measure again',
  }),
  partial: () => ({ text: 'the run broke off: not ranked' }),
};

/** A mark in words, with advice where there is some. */
export function markText({ code, facts }: Mark): MarkText {
  return formatters[code](facts);
}

function figure(facts: Facts, name: string): string {
  const value = facts[name];
  return typeof value === 'number' ? String(Number(value.toFixed(1))) : '?';
}

function share(facts: Facts, name: string): string {
  const value = facts[name];
  return typeof value === 'number' ? percent(value) : 'an unknown share';
}
