import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { RequestRecord } from '../metrics/request-record.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import type { Assignment } from '../search-space/assignment.ts';
import type { GpuSample } from '../server/gpu-clocks.ts';

export type TrialState = 'planned' | 'completed' | 'partial' | 'infeasible' | 'failed' | 'skipped';

/** What identifies a study's comparability; a difference on resume is refused with its name. */
export interface StudyIdentity {
  readonly name: string;
  readonly workload: Readonly<Record<string, unknown>>;
  readonly profile: ReadonlyMap<number, number>;
  readonly scoreKind: string;
  readonly limits: readonly string[];
  readonly sglangVersion: string | null;
  /** argv of production, secrets redacted. */
  readonly baselineArgv: readonly string[];
  /** The merged production unit as text, empty for a command target. */
  readonly unitText: string;
  readonly helpText: string;
  readonly seed: number;
}

export interface StoredStudy extends StudyIdentity {
  readonly id: number;
  readonly createdAtMs: number;
}

export interface StoredTrial {
  readonly id: number;
  /** 0 is the baseline; shown to users. */
  readonly number: number;
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  readonly state: TrialState;
  readonly cause: string | null;
  readonly reason: string | null;
}

export interface LaunchStart {
  readonly trialId: number;
  readonly startedAtMs: number;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logPath: string;
  /** Versions known before the start, e.g. of kernel packages and the driver. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Seed of prompts and order; the study's seed where it is not given. */
  readonly seed?: number;
}

/** What is known once a real completion came back; measurements are accepted from then on. */
export interface LaunchReady {
  readonly readySeconds: number;
  /** What the server says it runs, flattened; null = unknown. */
  readonly effective: Readonly<Record<string, unknown>> | null;
  readonly sglangVersion: string | null;
}

export interface LaunchEnd {
  readonly state: 'completed' | 'crashed' | 'not-ready' | 'interrupted' | 'failed';
  readonly cause: string | null;
  readonly message: string | null;
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  readonly logTail: readonly string[];
  /** Concurrency under load when the server ended by itself; a crash there bars the trial there. */
  readonly crashedAtConcurrency?: number | null;
  /** Wall-clock ms when the server was gone. */
  readonly endedAtMs?: number;
}

/** A launch as stored. `imported`: measured elsewhere, `source` says where it was read from. */
export interface StoredLaunch
  extends Omit<LaunchEnd, 'state' | 'endedAtMs'>,
    Omit<LaunchReady, 'readySeconds'> {
  readonly id: number;
  readonly trialId: number;
  readonly kind: 'started' | 'imported';
  readonly source: string | null;
  readonly startedAtMs: number;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly seed: number;
  /** Null: it was never ready. */
  readonly readySeconds: number | null;
  /** `running`: it has not ended, or its end was never recorded (the tuner was killed). */
  readonly state: LaunchEnd['state'] | 'running';
  /** Null while it runs, when its end was never recorded, and for imported ones. */
  readonly endedAtMs: number | null;
}

export interface NewMeasurement {
  readonly launchId: number;
  readonly trialId: number;
  /** Planned launch of the trial this belongs to: 0 first, 1... confirmations. */
  readonly round: number;
  readonly concurrency: number;
  readonly repeat: number;
  readonly startedAtMs: number;
  readonly metrics: PointMetrics;
  readonly records: readonly RequestRecord[];
  /** Prompt seed and salt, client figures, time scale: what is needed to repeat it. */
  readonly conditions: Readonly<Record<string, string | number | boolean | null>>;
  /** What the GPUs did meanwhile; absent or empty where there are none, or nothing tells. */
  readonly gpuSamples?: readonly GpuSample[] | undefined;
}

export interface StoredMeasurement extends Omit<NewMeasurement, 'records' | 'gpuSamples'> {
  readonly id: number;
}

/** One GPU at one moment of a measurement; null is what its driver does not tell. */
export interface StoredGpuSample {
  /** Wall-clock ms since 1970. */
  readonly takenAtMs: number;
  /** As nvidia-smi numbers them, from 0. */
  readonly gpuIndex: number;
  readonly temperatureCelsius: number | null;
  readonly smClockMhz: number | null;
  readonly powerWatts: number | null;
  readonly memoryUsedMib: number | null;
  /** Why the clock was held back, such as `sw_power_cap`; empty when it was not. */
  readonly throttleReasons: readonly string[];
}

/** One request of a measurement as stored: its moments and counts, without the chunk arrays. */
export interface StoredRequest extends Omit<RequestRecord, 'chunkAtMs' | 'chunkTokens'> {
  /** Chunks that brought output. */
  readonly chunks: number;
}

/** Measurements made elsewhere, kept as one imported launch. */
export interface ImportedLaunch {
  readonly trialId: number;
  /** Shown to users: the file's name. */
  readonly source: string;
  /** Hash of the content: the same content is stored once per trial. */
  readonly sourceHash: string;
  readonly importedAtMs: number;
  readonly metrics: readonly PointMetrics[];
  readonly conditions: Readonly<Record<string, string | number | boolean | null>>;
}

export interface MeasurementKey {
  readonly round: number;
  readonly concurrency: number;
  readonly repeat: number;
}

/**
 * The product's memory. Every method is one transaction; a killed process leaves either all of it
 * or nothing. One writer, any number of readers. Secrets never reach it: callers redact first.
 */
export interface StudyStore extends Disposable {
  /** What a user should know about how the file was opened (network file system). */
  readonly notices: readonly string[];
  studies(): readonly StoredStudy[];
  findStudy(name: string): StoredStudy | undefined;
  createStudy(identity: StudyIdentity, createdAtMs: number): StoredStudy;
  /** Replaces what identifies a study, after `compareIdentity` found nothing that forbids it. */
  updateStudy(studyId: number, identity: StudyIdentity): StoredStudy;
  /** Adds what is new and keeps what is there (by assignment); returns all, by number. */
  planTrials(
    studyId: number,
    trials: readonly {
      assignment: Assignment;
      isBaseline: boolean;
      state: TrialState;
      cause?: string;
      reason?: string;
    }[],
  ): readonly StoredTrial[];
  trials(studyId: number): readonly StoredTrial[];
  /** One trial as it is now: a study may have thousands. Undefined when there is none of this id. */
  trial(trialId: number): StoredTrial | undefined;
  setTrialState(
    trialId: number,
    state: TrialState,
    cause: string | null,
    reason: string | null,
  ): void;
  startLaunch(launch: LaunchStart): number;
  /** Records readiness; without it no measurement of this launch is accepted. */
  launchReady(launchId: number, ready: LaunchReady): void;
  /** Ends the launches that a killed sweep left open as `interrupted`; returns how many. */
  interruptOpenLaunches(studyId: number): number;
  endLaunch(launchId: number, end: LaunchEnd): void;
  /** By id, which is the order of starting. */
  launches(studyId: number): readonly StoredLaunch[];
  /**
   * Stores one measurement with its requests.
   *
   * @throws RefusedMeasurementError for zero or non-finite figures, a launch that was never ready,
   *   and a key that is already measured.
   */
  addMeasurement(measurement: NewMeasurement): number;
  /** Stores imported measurements; `added` is false when this content was imported before. */
  addImported(launch: ImportedLaunch): { readonly launchId: number; readonly added: boolean };
  /** Makes this trial the baseline, numbered 0. @throws UserError when another one is. */
  setBaseline(trialId: number): void;
  /** By id, which is the order of measuring. */
  measurements(studyId: number): readonly StoredMeasurement[];
  requests(measurementId: number): readonly StoredRequest[];
  /** By moment and GPU; empty where none were taken. */
  gpuSamples(measurementId: number): readonly StoredGpuSample[];
  measuredKeys(trialId: number): readonly MeasurementKey[];
  /** All trials that have measurements or ended without, for ranking. */
  trialData(studyId: number): readonly TrialData[];
  setStudyMeta(studyId: number, key: string, value: unknown): void;
  /** Undefined when the key was never set. */
  studyMeta(studyId: number, key: string): unknown;
  /** What SQLite's integrity and foreign key checks find; empty when all is well. */
  integrityProblems(): readonly string[];
}

/** A measurement that may not be kept: the point failed (field report D16). */
export class RefusedMeasurementError extends Error {
  override readonly name = 'RefusedMeasurementError';
}
