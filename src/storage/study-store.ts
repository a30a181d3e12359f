import type { PointMetrics } from '../metrics/point-metrics.ts';
import type { RequestRecord } from '../metrics/request-record.ts';
import type { TrialData } from '../ranking/trial-data.ts';
import type { Assignment } from '../search-space/assignment.ts';

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
}

/** What is known once a real completion came back. */
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
  studies(): readonly StoredStudy[];
  findStudy(name: string): StoredStudy | undefined;
  createStudy(identity: StudyIdentity, createdAtMs: number): StoredStudy;
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
  setTrialState(
    trialId: number,
    state: TrialState,
    cause: string | null,
    reason: string | null,
  ): void;
  startLaunch(launch: LaunchStart): number;
  launchReady(launchId: number, ready: LaunchReady): void;
  /** Ends the launches that a killed sweep left open as `interrupted`; returns how many. */
  interruptOpenLaunches(studyId: number): number;
  endLaunch(launchId: number, end: LaunchEnd): void;
  /** Refuses non-finite or zero throughput, and a launch that was never ready. */
  addMeasurement(measurement: NewMeasurement): number;
  measuredKeys(trialId: number): readonly MeasurementKey[];
  /** All trials that have measurements or ended without, for ranking. */
  trialData(studyId: number): readonly TrialData[];
  setStudyMeta(studyId: number, key: string, value: unknown): void;
  studyMeta(studyId: number, key: string): unknown;
}
