import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { ENV_PREFIX } from '../search-space/assignment.ts';
import { numericValue, sameValue } from '../search-space/values.ts';
import { startupValues } from './log-lines.ts';

/** One swept flag: what was asked and what runs. */
export interface EffectiveValue {
  readonly asked: FlagValue;
  /** What the server runs; absent when it does not say. */
  readonly effective?: FlagValue;
  readonly from?: 'server-info' | 'log' | 'process';
  /**
   * Whether the asked value took effect. `unknown` is not `yes`. An absent flag (`~`) asks for
   * the server's default, which always takes effect.
   */
  readonly took: 'yes' | 'no' | 'unknown';
}

/** What a started server really runs, as far as it tells. Null: it does not say. */
export interface EffectiveConfiguration {
  readonly version: string | null;
  /** Per swept parameter. */
  readonly values: Readonly<Record<string, EffectiveValue>>;
  /** Requests that run at a time, over all data-parallel workers. */
  readonly runningLimit: number | null;
  /** Largest batch that decodes with a captured graph; 0 when graphs are off. */
  readonly largestDecodeGraph: number | null;
  readonly kvTokens: number | null;
  /** Slots for recurrent state of hybrid models. */
  readonly stateSlots: number | null;
  /** Log lines that call a swept name removed, ignored or without effect. */
  readonly ignored: readonly string[];
}

export interface EffectiveFacts {
  readonly assignment: Assignment;
  /** Parsed JSON of `/server_info`; undefined where the server has none. */
  readonly serverInfo?: unknown;
  readonly logLines?: readonly string[];
  /** Environment of the running process, where it can be read. */
  readonly environment?: Readonly<Record<string, string>>;
}

type Json = Readonly<Record<string, unknown>>;

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function flagValue(value: unknown): FlagValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return undefined;
  const items = value.filter((one) => typeof one === 'string' || typeof one === 'number');
  return items.length === value.length ? items : undefined;
}

function workers(info: Json): Json[] {
  const states: unknown = info['internal_states'];
  return Array.isArray(states) ? states.map(object) : [];
}

/** Decode graph settings, nested from 0.5.20 on. */
function decodeGraph(info: Json): Json {
  return object(object(info['cuda_graph_config'])['decode']);
}

/** Flags that stand elsewhere in server info than under their own name. */
const elsewhere: Readonly<Record<string, (info: Json) => unknown>> = {
  'cuda-graph-max-bs-decode': (info) => decodeGraph(info)['max_bs'],
  'cuda-graph-bs-decode': (info) => decodeGraph(info)['bs'],
  'cuda-graph-backend-decode': (info) => decodeGraph(info)['backend'],
  'disable-decode-cuda-graph': (info) => {
    const backend = decodeGraph(info)['backend'];
    return typeof backend === 'string' ? backend === 'disabled' : undefined;
  },
  // The top level repeats what was asked; what runs stands per worker.
  'max-running-requests': (info) => runningLimit(info) ?? undefined,
  'max-mamba-cache-size': (info) => workers(info)[0]?.['max_mamba_cache_size'],
  'fp8-gemm-backend': (info) => info['fp8_gemm_runner_backend'],
  'fp4-gemm-backend': (info) => info['fp4_gemm_runner_backend'],
};

function runningLimit(info: Json): number | null {
  const limits = workers(info).map((worker) =>
    positive(worker['effective_max_running_requests_per_dp']),
  );
  if (limits.length === 0 || limits.includes(null)) return null;
  return limits.reduce<number>((sum, limit) => sum + (limit ?? 0), 0);
}

function fromServerInfo(flag: string, info: Json): FlagValue | undefined {
  const read = elsewhere[flag];
  return flagValue(read === undefined ? info[flag.replaceAll('-', '_')] : read(info));
}

/** Names that mean the same algorithm: server info shows EAGLE for NEXTN. */
function comparable(flag: string, value: FlagValue): FlagValue {
  if (flag !== 'speculative-algorithm' || typeof value !== 'string') return value;
  const name = value.toUpperCase();
  return name === 'NEXTN' ? 'EAGLE' : name;
}

function isSame(flag: string, asked: FlagValue, effective: FlagValue): boolean {
  const [a, b] = [comparable(flag, asked), comparable(flag, effective)];
  const [x, y] = [numericValue(a), numericValue(b)];
  return sameValue(a, b) || (x !== undefined && x === y);
}

function judge(
  flag: string,
  asked: FlagValue,
  effective: FlagValue | undefined,
  from: EffectiveValue['from'],
): EffectiveValue {
  const isDefault = asked === null;
  if (effective === undefined || from === undefined)
    return { asked, took: isDefault ? 'yes' : 'unknown' };
  return {
    asked,
    effective,
    from,
    took: isDefault || isSame(flag, asked, effective) ? 'yes' : 'no',
  };
}

/**
 * What a started server runs, next to what was asked of it.
 *
 * Server info is asked first, then the log; a value that neither gives stays unknown. A parameter
 * whose `took` is `no` must not enter a ranking as if it had the asked value.
 */
export function effectiveConfiguration({
  assignment,
  serverInfo,
  logLines = [],
  environment,
}: EffectiveFacts): EffectiveConfiguration {
  const info = object(serverInfo);
  const log = startupValues(logLines);
  const dataParallel = Math.max(1, positive(info['dp_size']) ?? 1);
  const perWorker = log.runningLimitPerWorker;
  const limit = runningLimit(info) ?? (perWorker === undefined ? null : perWorker * dataParallel);
  const logged: Readonly<Record<string, FlagValue | undefined>> = {
    'max-running-requests': limit ?? undefined,
    'chunked-prefill-size': log.chunkedPrefillSize,
    'attention-backend': log.attentionBackend,
  };

  const values = Object.entries(assignment).map(([name, asked]) => {
    if (name.startsWith(ENV_PREFIX)) return [name, inProcess(name, asked, environment)] as const;
    const told = fromServerInfo(name, info);
    if (told !== undefined) return [name, judge(name, asked, told, 'server-info')] as const;
    return [name, judge(name, asked, logged[name], 'log')] as const;
  });
  const names = Object.keys(assignment).map((name) => name.replace(ENV_PREFIX, ''));
  const ignored = log.ignored.filter((line) => names.some((name) => mentions(line, name)));
  return {
    version: typeof info['version'] === 'string' ? info['version'] : (log.version ?? null),
    values: withIgnored(Object.fromEntries(values), ignored),
    runningLimit: limit,
    largestDecodeGraph: largestGraph(info, log.decodeGraphSizes),
    kvTokens: positive(info['max_total_num_tokens']) ?? log.kvTokens ?? null,
    stateSlots: positive(workers(info)[0]?.['max_mamba_cache_size']),
    ignored,
  };
}

function mentions(line: string, name: string): boolean {
  return line.includes(name) || line.includes(name.replaceAll('-', '_'));
}

/** A value the server says it ignored did not take effect, whatever its environment holds (B8). */
function withIgnored(
  values: Readonly<Record<string, EffectiveValue>>,
  ignored: readonly string[],
): Record<string, EffectiveValue> {
  const entries = Object.entries(values).map(([name, value]) => {
    const isIgnored = ignored.some((line) => mentions(line, name.replace(ENV_PREFIX, '')));
    return [name, isIgnored ? { ...value, took: 'no' as const } : value] as const;
  });
  return Object.fromEntries(entries);
}

function inProcess(
  name: string,
  asked: FlagValue,
  environment: Readonly<Record<string, string>> | undefined,
): EffectiveValue {
  if (environment === undefined) return { asked, took: 'unknown' };
  const effective = environment[name.slice(ENV_PREFIX.length)] ?? null;
  return { asked, effective, from: 'process', took: sameValue(asked, effective) ? 'yes' : 'no' };
}

/** The log knows what was captured; server info only what was configured, before clamping. */
function largestGraph(info: Json, captured: readonly number[] | undefined): number | null {
  if (captured !== undefined) return captured.at(-1) ?? 0;
  const graph = decodeGraph(info);
  if (graph['backend'] === 'disabled') return 0;
  return positive(graph['max_bs']);
}

/** A limit of the server that changes what a measurement at this concurrency means. */
export interface LimitMark {
  readonly code: 'above-running-limit' | 'eager-decode' | 'kv-pool-too-small';
  readonly facts: Readonly<Record<string, number>>;
  /** Flag that would lift the limit. */
  readonly flag: string;
}

/**
 * Limits that a measurement at `concurrency` runs into, with requests of `tokensPerRequest` (input
 * and output). A server without graphs has no `eager-decode` mark: all its batches are equal.
 */
export function limitMarks(
  { runningLimit: limit, largestDecodeGraph, kvTokens }: EffectiveConfiguration,
  concurrency: number,
  tokensPerRequest: number,
): LimitMark[] {
  const marks: LimitMark[] = [];
  if (limit !== null && concurrency > limit)
    marks.push({
      code: 'above-running-limit',
      facts: { concurrency, limit },
      flag: 'max-running-requests',
    });
  const batch = Math.min(concurrency, limit ?? concurrency);
  if (largestDecodeGraph !== null && largestDecodeGraph > 0 && batch > largestDecodeGraph)
    marks.push({
      code: 'eager-decode',
      facts: { concurrency, largestDecodeGraph },
      flag: 'cuda-graph-max-bs-decode',
    });
  const neededTokens = batch * tokensPerRequest;
  if (kvTokens !== null && neededTokens > kvTokens)
    marks.push({
      code: 'kv-pool-too-small',
      facts: { concurrency, neededTokens, kvTokens },
      flag: 'mem-fraction-static',
    });
  return marks;
}
