import type { Clock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { requireFiles } from '../load/file-limit.ts';
import {
  type GpuSnapshot,
  readGpus,
  requireOwnGpus,
  waitForFreeGpus,
  withoutProcesses,
} from '../server/gpu-gate.ts';
import { requireFreePort } from '../server/local-target.ts';
import { requireOwnAddress } from '../server/own-address.ts';
import { type FreeSpace, freeSpace } from '../storage/free-space.ts';
import { diskNeed, LEAST_FREE_BYTES } from './disk-need.ts';
import type { Production } from './production.ts';

export interface PreflightOptions {
  readonly study: Study;
  readonly launches: number;
  readonly databasePath: string;
  readonly logFolder: string;
  readonly host: Host;
  readonly clock: Clock;
  /** False where the server uses no GPU, as a simulated one. */
  readonly usesGpus: boolean;
  /** The user wants to measure beside the processes of others. */
  readonly allowGpuProcesses: boolean;
  /** Production that serves on the port and the GPUs, and gives way to the first launch. */
  readonly serving?: {
    readonly pids: ReadonlySet<number>;
    readonly hasGivenWay: () => boolean;
  };
  /** `freeSpace`; only tests replace it. */
  readonly spaceAt?: (path: string) => FreeSpace;
}

/** Asked before each launch: why the machine is in no state for one; undefined when it is. */
export type EnvironmentCheck = (signal: AbortSignal) => Promise<string | undefined>;

/** One thing that is checked of the machine; `check` throws UserError where it does not hold. */
export interface MachineCheck {
  readonly name: string;
  /** Returns what was found. */
  readonly check: () => Promise<string>;
}

/** What must hold before a sweep touches anything: open files, the port, disk space, GPUs. */
export function machineChecks(options: PreflightOptions): readonly MachineCheck[] {
  const { study, host, serving, spaceAt = freeSpace } = options;
  const most = Math.max(...study.profile.keys());
  return [
    {
      name: 'open files',
      check: async () => {
        requireFiles(most);
        return Promise.resolve(`enough for ${String(most)} requests in flight`);
      },
    },
    {
      name: 'port',
      check: async () => {
        if (study.target.ssh === undefined) await requireOwnAddress(study.target.baseUrl);
        if (serving !== undefined) return 'is production’s own';
        await requireFreePort(study.target.baseUrl);
        return `that of ${study.target.baseUrl} is free`;
      },
    },
    {
      name: 'disk',
      check: async () => {
        requireSpace(options, spaceAt);
        return Promise.resolve('has room for database and logs');
      },
    },
    {
      name: 'GPUs',
      check: async () => {
        if (!options.usesGpus) return 'are not used';
        const seen = await readGpus(host);
        if (seen === undefined) return `${host.name} has no nvidia-smi: nothing is checked`;
        requireOwnGpus(seen, serving?.pids ?? new Set(), options.allowGpuProcesses);
        return 'are used by nobody else';
      },
    },
  ];
}

/**
 * Checks the machine before a sweep touches anything (field reports A4, E12). Leftovers of an
 * interrupted sweep must be ended before.
 *
 * @returns what to ask before each launch: a disk that fills up, and GPU memory that the last
 *   server has not given back (A2), end a sweep cleanly.
 * @throws UserError naming what is wrong, who holds it, and what to do.
 */
export async function preflight(options: PreflightOptions): Promise<EnvironmentCheck> {
  const { host, usesGpus, serving, spaceAt = freeSpace } = options;
  for (const { check } of machineChecks(options)) await check();
  const seen = usesGpus ? await readGpus(host) : undefined;
  const before = seen && withoutProcesses(seen, serving?.pids ?? new Set());
  return async (signal) => {
    const full = fullDisk(options, spaceAt);
    if (full !== undefined || before === undefined) return full;
    // Production still has its memory before the first launch.
    return serving?.hasGivenWay() === false ? undefined : heldGpus(before, options, signal);
  };
}

function requireSpace(
  { study, launches, databasePath, logFolder }: PreflightOptions,
  spaceAt: (path: string) => FreeSpace,
): void {
  const { databaseBytes, logBytes } = diskNeed(study, launches);
  const [forDatabase, forLogs] = [spaceAt(databasePath), spaceAt(logFolder)];
  const shared = forDatabase.device === forLogs.device;
  refuseShortage(databasePath, forDatabase.bytes, databaseBytes + (shared ? logBytes : 0));
  if (!shared) refuseShortage(logFolder, forLogs.bytes, logBytes);
}

function refuseShortage(path: string, freeBytes: number, neededBytes: number): void {
  if (freeBytes >= neededBytes + LEAST_FREE_BYTES) return;
  throw new UserError(
    `the disk of ${path} has ${mib(freeBytes)} free, this sweep needs about ${mib(neededBytes + LEAST_FREE_BYTES)}`,
    { hint: 'free some space, or name other places with --db and --out' },
  );
}

function fullDisk(
  { databasePath, logFolder }: PreflightOptions,
  spaceAt: (path: string) => FreeSpace,
): string | undefined {
  const full = [databasePath, logFolder].find((path) => spaceAt(path).bytes < LEAST_FREE_BYTES);
  if (full === undefined) return undefined;
  return `the disk of ${full} is nearly full (${mib(spaceAt(full).bytes)} free); everything measured is safe`;
}

async function heldGpus(
  before: GpuSnapshot,
  { host, clock, study }: PreflightOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const limitSeconds = study.start.gpuReleaseSeconds;
  const limits = { clock, limitSeconds, signal };
  const release = await waitForFreeGpus(host, before, limits);
  if (release.state === 'free') return undefined;
  return `GPU memory was not given back within ${String(limitSeconds)} s: ${release.reason}`;
}

function mib(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024).toLocaleString('en')} MiB`;
}

/** Whether the servers of a study use GPUs: all but simulated ones and those told to use the CPU. */
export function usesGpus({ argv, text }: Pick<Production, 'argv' | 'text'>): boolean {
  if (argv.includes('--sim-gpu-file')) return true;
  const isOnCpu = argv.some(
    (word, i) => word === '--device=cpu' || (word === 'cpu' && argv[i - 1] === '--device'),
  );
  return !isOnCpu && !isSimulated({ text });
}

/** Whether the study's servers are simulated ones, by the help text they print. */
export function isSimulated({ text }: Pick<Production, 'text'>): boolean {
  return text.includes('simulator switches (nightsweep simulate)');
}
