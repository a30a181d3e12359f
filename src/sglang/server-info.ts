import type { FlagValue } from '../search-space/assignment.ts';

/** Parsed JSON of `/server_info`. */
export type ServerInfo = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one for anything else. */
export function objectOf(value: unknown): ServerInfo {
  return typeof value === 'object' && value !== null ? (value as ServerInfo) : {};
}

/** A finite number of at least zero, else null. */
export function nonNegative(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function flagValue(value: unknown): FlagValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return undefined;
  const items = value.filter((one) => typeof one === 'string' || typeof one === 'number');
  return items.length === value.length ? items : undefined;
}

/** State of each data-parallel worker; empty where the server does not tell. */
export function workersOf(info: ServerInfo): ServerInfo[] {
  const states: unknown = info['internal_states'];
  return Array.isArray(states) ? states.map(objectOf) : [];
}

/** Decode graph settings, nested from 0.5.20 on. */
export function decodeGraph(info: ServerInfo): ServerInfo {
  return objectOf(objectOf(info['cuda_graph_config'])['decode']);
}

/** Flags that stand elsewhere in server info than under their own name. */
const elsewhere: Readonly<Record<string, (info: ServerInfo) => unknown>> = {
  'cuda-graph-max-bs-decode': (info) => decodeGraph(info)['max_bs'],
  'cuda-graph-bs-decode': (info) => decodeGraph(info)['bs'],
  'cuda-graph-backend-decode': (info) => decodeGraph(info)['backend'],
  'disable-decode-cuda-graph': (info) => {
    const backend = decodeGraph(info)['backend'];
    return typeof backend === 'string' ? backend === 'disabled' : undefined;
  },
  // The top level repeats what was asked; what runs stands per worker.
  'max-running-requests': (info) => runningLimitOf(info) ?? undefined,
  'max-mamba-cache-size': (info) => workersOf(info)[0]?.['max_mamba_cache_size'],
  'fp8-gemm-backend': (info) => info['fp8_gemm_runner_backend'],
  'fp4-gemm-backend': (info) => info['fp4_gemm_runner_backend'],
};

/** Requests that run at a time, over all data-parallel workers; null when it does not say. */
export function runningLimitOf(info: ServerInfo): number | null {
  const limits = workersOf(info).map((worker) =>
    nonNegative(worker['effective_max_running_requests_per_dp']),
  );
  if (limits.length === 0 || limits.includes(null)) return null;
  return limits.reduce<number>((sum, limit) => sum + (limit ?? 0), 0);
}

/** What the server says it runs for a flag; undefined when it does not say. */
export function reportedValue(flag: string, info: ServerInfo): FlagValue | undefined {
  const read = elsewhere[flag];
  return flagValue(read === undefined ? info[flag.replaceAll('-', '_')] : read(info));
}

/**
 * What resolution made of a flag, before memory limits it: what a prediction is compared with.
 * Undefined when the server does not say.
 */
export function resolvedValue(flag: string, info: ServerInfo): FlagValue | undefined {
  const isLimitedLater = flag === 'max-running-requests' || flag === 'max-mamba-cache-size';
  return isLimitedLater ? flagValue(info[flag.replaceAll('-', '_')]) : reportedValue(flag, info);
}
