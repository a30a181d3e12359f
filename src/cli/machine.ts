import { systemClock } from '../clock.ts';
import { readGpuStates } from '../server/gpu-gate.ts';
import type { Target } from '../server/target.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { confirmingLaunches } from '../study/finalists.ts';
import { watchGpus } from '../study/gpu-watch.ts';
import type { TakePoint } from '../study/measurer.ts';
import { type EnvironmentCheck, type PreflightOptions, usesGpus } from '../study/preflight.ts';
import type { PreparedSweep } from '../study/prepare.ts';
import type { Measurer } from '../study/services.ts';
import type { Place } from './reach-target.ts';

export interface MachineOptions {
  readonly databasePath: string;
  /** Folder of the sweep's logs and recommendation. */
  readonly folder: string;
  readonly allowGpuProcesses: boolean;
  /** Take the unit from a sweep that may still be alive. */
  readonly takeOver: boolean;
  /** Says a line to the user while the sweep runs. */
  readonly tell: (line: string) => void;
}

/** A machine that was found fit for a sweep; nothing of production has changed yet. */
export interface OpenedMachine extends AsyncDisposable {
  /** What the user should know. */
  readonly notices: readonly string[];
  /** Takes the server for the sweep. What must outlive this process goes into the store first. */
  take(store: StudyStore, stored: StoredStudy): Promise<HeldMachine>;
}

/** A machine on which launches may run. */
export interface HeldMachine {
  readonly target: Target;
  /** Where the load finds the server. */
  readonly baseUrl: string;
  /** Takes one point where the load comes from. */
  readonly takePoint: TakePoint;
  /** What the user should know of it. */
  readonly notices: readonly string[];
  /** What an interrupted sweep had left behind, and was ended or put right. */
  readonly ended: readonly string[];
  readonly environmentProblem: EnvironmentCheck;
  /** The measurer as it must be used on this machine. */
  readonly measuring: (measurer: Measurer) => Measurer;
  /**
   * Brings production back, where a production ran, and returns what was done.
   *
   * @param prove makes a real completion; throws when the server does not serve.
   * @throws UserError when production is not as it was.
   */
  giveBack(prove: () => Promise<void>): Promise<readonly string[]>;
}

/** Watches the GPUs of the machine during each measurement, where the server uses GPUs. */
export function watchingGpus(
  { production }: Pick<PreparedSweep, 'production'>,
  { host }: Pick<Place, 'host'>,
  store: StudyStore,
  stored: StoredStudy,
): HeldMachine['measuring'] {
  if (!usesGpus(production)) return (measurer) => measurer;
  const baselineIds = new Set(
    store.trials(stored.id).flatMap(({ id, isBaseline }) => (isBaseline ? [id] : [])),
  );
  const baseline = store.measurements(stored.id).filter(({ trialId }) => baselineIds.has(trialId));
  return (measurer) => watchGpus(measurer, { host, clock: systemClock, baseline });
}

/** What to say where the server uses GPUs and nothing tells about them; empty otherwise. */
export async function gpuGateNotices(
  { production }: Pick<PreparedSweep, 'production'>,
  { host }: Pick<Place, 'host'>,
): Promise<readonly string[]> {
  if (!usesGpus(production) || (await readGpuStates(host)) !== undefined) return [];
  return [
    `no nvidia-smi on ${host.name}: the GPU gate is absent, neither foreign processes nor clocks are seen`,
  ];
}

/** What is checked of the machine from which the load comes, and of GPUs. */
export function preflightOptions(
  { study, production, plan }: PreparedSweep,
  place: Pick<Place, 'host'>,
  options: MachineOptions,
): PreflightOptions {
  const { finalists, launches } = study.measure;
  return {
    study,
    launches: plan.trials.length + confirmingLaunches(finalists, launches, plan.trials.length - 1),
    databasePath: options.databasePath,
    logFolder: options.folder,
    host: place.host,
    clock: systemClock,
    usesGpus: usesGpus(production),
    allowGpuProcesses: options.allowGpuProcesses,
  };
}
