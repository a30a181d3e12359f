import _ from 'lodash';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { CommandResult, Host } from '../host/host.ts';
import {
  GPU_QUERY,
  type GpuProcess,
  type GpuState,
  PROCESS_QUERY,
  parseGpuProcesses,
  parseGpus,
} from './gpu-smi.ts';

/** What the GPUs of a target hold at one moment. */
export interface GpuSnapshot {
  readonly gpus: readonly GpuState[];
  readonly processes: readonly GpuProcess[];
}

/** Allowed above the level before the study: contexts of monitoring tools come and go. */
const SLACK_MIB = 256;
const POLL_MS = 1000;
const QUERY_LIMIT_MS = 30_000;

/** The state of the GPUs; undefined where there is no nvidia-smi: the gate is then absent. */
export async function readGpus(host: Host): Promise<GpuSnapshot | undefined> {
  const gpus = await readGpuStates(host);
  if (gpus === undefined) return undefined;
  const processes = await query(host, PROCESS_QUERY);
  return {
    gpus,
    processes: processes.exitCode === 0 ? parseGpuProcesses(processes.stdout) : [],
  };
}

/** The GPUs alone, by one command; undefined where there is no nvidia-smi. */
export async function readGpuStates(host: Host): Promise<readonly GpuState[] | undefined> {
  const gpus = await query(host, GPU_QUERY);
  if (gpus.exitCode === 127) return undefined;
  if (gpus.timedOut || gpus.exitCode !== 0) {
    const reason = gpus.timedOut ? 'no answer in 30 s' : firstLine(gpus.stdout + gpus.stderr);
    throw new UserError(`nvidia-smi on ${host.name} fails: ${reason}`, {
      hint: 'A server would not find its GPU either: look at the driver first.',
    });
  }
  return parseGpus(gpus.stdout);
}

/**
 * Processes that use a GPU and are not ours, as "python3 (pid 42, 1200 MiB)". Inside a container
 * nvidia-smi may show none, or ids of another namespace: memory is then the only sign.
 */
export function foreignProcesses(
  { processes }: GpuSnapshot,
  ownPids: ReadonlySet<number>,
): string[] {
  return processes
    .filter(({ pid }) => !ownPids.has(pid))
    .map(({ pid, name, memoryMib }) => {
      const memory = memoryMib === undefined ? '' : `, ${memoryMib} MiB`;
      return `${name} (pid ${pid}${memory})`;
    });
}

/** The snapshot as it would be without these processes, as far as their memory is told. */
export function withoutProcesses(
  { gpus, processes }: GpuSnapshot,
  pids: ReadonlySet<number>,
): GpuSnapshot {
  const heldBy = (uuid: string) =>
    _.sumBy(
      processes.filter(({ gpuUuid, pid }) => gpuUuid === uuid && pids.has(pid)),
      ({ memoryMib }) => memoryMib ?? 0,
    );
  return {
    gpus: gpus.map((gpu) => ({
      ...gpu,
      memoryUsedMib:
        gpu.memoryUsedMib === undefined
          ? undefined
          : Math.max(0, gpu.memoryUsedMib - heldBy(gpu.uuid)),
    })),
    processes: processes.filter(({ pid }) => !pids.has(pid)),
  };
}

/** Throws UserError that names the foreign processes, unless the user wants to run beside them. */
export function requireOwnGpus(
  snapshot: GpuSnapshot,
  ownPids: ReadonlySet<number>,
  allowForeign: boolean,
): void {
  const foreign = foreignProcesses(snapshot, ownPids);
  if (foreign.length === 0 || allowForeign) return;
  throw new UserError(`the GPUs are used by others: ${foreign.join(', ')}`, {
    hint: 'Measurements beside them mean nothing. nightsweep ends nothing it did not start: stop them, or allow them in the study.',
  });
}

/** How the wait for free GPUs ended. `seconds` is what it took. */
export type GpuRelease =
  | { readonly state: 'free'; readonly seconds: number }
  | {
      readonly state: 'held';
      readonly seconds: number;
      /** "GPU 0 holds 4096 MiB, 12 MiB before the study", and who holds it where that is known. */
      readonly reason: string;
    };

/**
 * Waits until every GPU holds no more memory than before the study: what the last server has not
 * given back, the next one lacks.
 */
export async function waitForFreeGpus(
  host: Host,
  before: GpuSnapshot,
  {
    clock,
    limitSeconds,
    signal,
  }: {
    readonly clock: Clock;
    readonly limitSeconds: number;
    readonly signal?: AbortSignal;
  },
): Promise<GpuRelease> {
  const startMs = clock.nowMs();
  for (;;) {
    const now = await readGpus(host);
    const seconds = (clock.nowMs() - startMs) / 1000;
    const reason = now === undefined ? undefined : heldMemory(before, now);
    if (reason === undefined) return { state: 'free', seconds };
    if (seconds >= limitSeconds) return { state: 'held', seconds, reason };
    await clock.sleep(POLL_MS, signal);
  }
}

/** What is held beyond the level before the study; undefined when nothing is. */
export function heldMemory(before: GpuSnapshot, now: GpuSnapshot): string | undefined {
  const level = new Map(before.gpus.map(({ uuid, memoryUsedMib }) => [uuid, memoryUsedMib]));
  const held = now.gpus.flatMap(({ index, uuid, memoryUsedMib }) => {
    const allowed = level.get(uuid);
    if (allowed === undefined || memoryUsedMib === undefined) return [];
    if (memoryUsedMib <= allowed + SLACK_MIB) return [];
    const known = new Set(before.processes.map(({ pid }) => pid));
    const holders = foreignProcesses(
      { gpus: [], processes: now.processes.filter(({ gpuUuid }) => gpuUuid === uuid) },
      known,
    );
    const who = holders.length === 0 ? '' : `, held by ${holders.join(', ')}`;
    return [`GPU ${index} holds ${memoryUsedMib} MiB, ${allowed} MiB before the study${who}`];
  });
  return held.length === 0 ? undefined : held.join('; ');
}

async function query(host: Host, argv: readonly string[]): Promise<CommandResult> {
  return host.run({ argv, timeoutMs: QUERY_LIMIT_MS, repeatable: true });
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
