import type { Assignment, FlagValue } from '../search-space/assignment.ts';
import { ENV_PREFIX } from '../search-space/assignment.ts';
import { sameValue } from '../search-space/values.ts';
import { startupValues } from './log-lines.ts';
import { metricsValues } from './metrics-values.ts';
import { reportedKey } from './reported-configuration.ts';
import { leavesChoice, sameSetting } from './same-setting.ts';
import {
  decodeGraph,
  nonNegative,
  objectOf,
  reportedValue,
  runningLimitOf,
  type ServerInfo,
  workersOf,
} from './server-info.ts';

/** One swept flag: what was asked and what runs. */
export interface EffectiveValue {
  readonly asked: FlagValue;
  /** What the server runs; absent when it does not say. */
  readonly effective?: FlagValue;
  readonly from?: 'server-info' | 'log' | 'metrics' | 'process';
  /**
   * Whether the asked value took effect. `unknown` is not `yes`. An absent flag (`~`) and `auto`
   * ask for the server's own choice, which always takes effect.
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
  /** Equal for launches that report the same configuration; null: the server reports none. */
  readonly key: string | null;
}

export interface EffectiveFacts {
  readonly assignment: Assignment;
  /** Parsed JSON of `/server_info`; undefined where the server has none. */
  readonly serverInfo?: unknown;
  readonly logLines?: readonly string[];
  /** Environment of the running process, where it can be read. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Flags of the running process's command line, by canonical name, where it can be read. */
  readonly processFlags?: Readonly<Record<string, FlagValue>> | undefined;
  /** Text of `/metrics`. */
  readonly metricsText?: string | undefined;
  /** Canonical name of a parameter that the study writes by an alias. */
  readonly canonicalName?: (parameter: string) => string;
}

function judge(
  flag: string,
  asked: FlagValue,
  effective: FlagValue | undefined,
  from: EffectiveValue['from'],
): EffectiveValue {
  const isDefault = leavesChoice(asked);
  if (effective === undefined || from === undefined)
    return { asked, took: isDefault ? 'yes' : 'unknown' };
  return {
    asked,
    effective,
    from,
    took: isDefault || sameSetting(flag, asked, effective) ? 'yes' : 'no',
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
  processFlags,
  metricsText = '',
  canonicalName = (parameter) => parameter,
}: EffectiveFacts): EffectiveConfiguration {
  const gauges = metricsValues(metricsText);
  const info = objectOf(serverInfo);
  const log = startupValues(logLines);
  const dataParallel = Math.max(1, nonNegative(info['dp_size']) ?? 1);
  const perWorker = log.runningLimitPerWorker;
  const limit = runningLimitOf(info) ?? (perWorker === undefined ? null : perWorker * dataParallel);
  const logged: Readonly<Record<string, FlagValue | undefined>> = {
    'max-running-requests': limit ?? undefined,
    'chunked-prefill-size': log.chunkedPrefillSize,
    'attention-backend': log.attentionBackend,
    'page-size': gauges.pageSize,
  };

  const told = Object.entries(assignment).map(([name, asked]) => {
    if (name.startsWith(ENV_PREFIX)) return [name, inProcess(name, asked, environment)] as const;
    const flag = canonicalName(name);
    const reported = reportedValue(flag, info);
    if (reported !== undefined) return [name, judge(flag, asked, reported, 'server-info')] as const;
    const from = flag === 'page-size' ? 'metrics' : 'log';
    const told = judge(flag, asked, logged[flag], from);
    if (told.took !== 'unknown') return [name, told] as const;
    return [name, onCommandLine(flag, asked, processFlags) ?? told] as const;
  });
  const ignored = log.ignored.filter((line) =>
    Object.keys(assignment).some((name) => mentions(line, name)),
  );
  const isIgnored = (name: string) => ignored.some((line) => mentions(line, name));
  const values = withIgnored(Object.fromEntries(told), isIgnored);
  return {
    version: typeof info['version'] === 'string' ? info['version'] : (log.version ?? null),
    values,
    runningLimit: limit,
    largestDecodeGraph: largestGraph(info, log.decodeGraphSizes),
    kvTokens: nonNegative(info['max_total_num_tokens']) ?? log.kvTokens ?? gauges.kvTokens ?? null,
    stateSlots: nonNegative(workersOf(info)[0]?.['max_mamba_cache_size']),
    ignored,
    key: reportedKey(serverInfo, values, Object.keys(values).filter(isIgnored)),
  };
}

function mentions(line: string, parameter: string): boolean {
  const name = parameter.replace(ENV_PREFIX, '');
  return line.includes(name) || line.includes(name.replaceAll('-', '_'));
}

/** A value the server says it ignored did not take effect, whatever its environment holds (B8). */
function withIgnored(
  values: Readonly<Record<string, EffectiveValue>>,
  isIgnored: (name: string) => boolean,
): Record<string, EffectiveValue> {
  const entries = Object.entries(values).map(([name, value]) => {
    return [name, isIgnored(name) ? { ...value, took: 'no' as const } : value] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * A wrapper may have dropped or replaced a flag: then the process was never asked for the value.
 * Undefined where its command line says what was asked, which does not prove that it took effect.
 */
function onCommandLine(
  flag: string,
  asked: FlagValue,
  processFlags: EffectiveFacts['processFlags'],
): EffectiveValue | undefined {
  if (processFlags === undefined) return undefined;
  const given = processFlags[flag] ?? null;
  if (sameSetting(flag, asked, given)) return undefined;
  return { asked, effective: given, from: 'process', took: 'no' };
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
function largestGraph(info: ServerInfo, captured: readonly number[] | undefined): number | null {
  if (captured !== undefined) return captured.at(-1) ?? 0;
  const graph = decodeGraph(info);
  if (graph['backend'] === 'disabled') return 0;
  return nonNegative(graph['max_bs']);
}

/** A limit of the server that changes what a measurement at this concurrency means. */
export interface LimitMark {
  readonly code: 'above-running-limit' | 'state-slots' | 'eager-decode' | 'kv-pool-too-small';
  readonly facts: Readonly<Record<string, number>>;
  /** Flag that would lift the limit. */
  readonly flag: string;
}

/**
 * Limits that a measurement at `concurrency` runs into, with requests of `tokensPerRequest` (input
 * and output). A server without graphs has no `eager-decode` mark: all its batches are equal.
 */
export function limitMarks(
  { runningLimit: limit, largestDecodeGraph, kvTokens, stateSlots }: EffectiveConfiguration,
  concurrency: number,
  tokensPerRequest: number,
): LimitMark[] {
  const marks: LimitMark[] = [];
  if (limit !== null && concurrency > limit)
    marks.push({
      code: 'above-running-limit',
      facts: { concurrency, runningLimit: limit },
      flag: 'max-running-requests',
    });
  if (
    limit !== null &&
    concurrency > limit &&
    stateSlots !== null &&
    isSlotLimit(limit, stateSlots)
  )
    marks.push({
      code: 'state-slots',
      facts: { concurrency, runningLimit: limit, stateSlots },
      flag: 'max-mamba-cache-size',
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

/**
 * Whether the slots for recurrent state set the running limit: a request takes 1 slot, or with the
 * prefix cache 3 to 5 (mem_cache/kv_cache_configurator.py:1572 at 8905cbd).
 */
function isSlotLimit(limit: number, slots: number): boolean {
  return [1, 3, 4, 5].some((perRequest) => Math.floor(slots / perRequest) === limit);
}
