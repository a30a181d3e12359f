import type { Database } from 'better-sqlite3';
import type { TrialData } from '../ranking/trial-data.ts';
import { readGpuSamples } from './gpu-rows.ts';
import { insertImported } from './import-rows.ts';
import {
  insertLaunch,
  interruptLaunches,
  readLaunches,
  recordEnd,
  recordReady,
} from './launch-rows.ts';
import { insertMeasurement, readKeys, readMeasurements } from './measurement-rows.ts';
import { readTrialData } from './ranking-rows.ts';
import { readRequests } from './request-rows.ts';
import { explainSqliteError } from './sqlite-errors.ts';
import { insertStudy, readStudies, updateStudyRow } from './study-rows.ts';
import type {
  ImportedLaunch,
  LaunchEnd,
  LaunchReady,
  LaunchStart,
  MeasurementKey,
  NewMeasurement,
  StoredGpuSample,
  StoredLaunch,
  StoredMeasurement,
  StoredRequest,
  StoredStudy,
  StoredTrial,
  StudyIdentity,
  StudyStore,
  TrialState,
} from './study-store.ts';
import {
  makeBaseline,
  mergeTrials,
  type PlannedTrial,
  readTrial,
  readTrials,
} from './trial-rows.ts';

/** The study store over one SQLite connection; made by `openStore`, which prepares the file. */
export class SqliteStudyStore implements StudyStore {
  readonly notices: readonly string[];
  readonly #db: Database;

  constructor(db: Database, notices: readonly string[]) {
    this.#db = db;
    this.notices = notices;
  }

  studies(): readonly StoredStudy[] {
    return readStudies(this.#db);
  }

  findStudy(name: string): StoredStudy | undefined {
    return readStudies(this.#db, name)[0];
  }

  createStudy(identity: StudyIdentity, createdAtMs: number): StoredStudy {
    return this.#write(() => {
      insertStudy(this.#db, identity, createdAtMs);
      return this.#study((study) => study.name === identity.name);
    });
  }

  updateStudy(studyId: number, identity: StudyIdentity): StoredStudy {
    return this.#write(() => {
      updateStudyRow(this.#db, studyId, identity);
      return this.#study((study) => study.id === studyId);
    });
  }

  planTrials(studyId: number, trials: readonly PlannedTrial[]): readonly StoredTrial[] {
    return this.#write(() => {
      mergeTrials(this.#db, studyId, trials);
      return readTrials(this.#db, studyId);
    });
  }

  trials(studyId: number): readonly StoredTrial[] {
    return readTrials(this.#db, studyId);
  }

  trial(trialId: number): StoredTrial | undefined {
    return readTrial(this.#db, trialId);
  }

  setTrialState(
    trialId: number,
    state: TrialState,
    cause: string | null,
    reason: string | null,
  ): void {
    this.#write(() => {
      this.#db
        .prepare('UPDATE trials SET state = ?, cause = ?, reason = ? WHERE id = ?')
        .run(state, cause, reason, trialId);
    });
  }

  setBaseline(trialId: number): void {
    this.#write(() => {
      makeBaseline(this.#db, trialId);
    });
  }

  startLaunch(launch: LaunchStart): number {
    return this.#write(() => insertLaunch(this.#db, launch));
  }

  launchReady(launchId: number, ready: LaunchReady): void {
    this.#write(() => {
      recordReady(this.#db, launchId, ready);
    });
  }

  endLaunch(launchId: number, end: LaunchEnd): void {
    this.#write(() => {
      recordEnd(this.#db, launchId, end);
    });
  }

  interruptOpenLaunches(studyId: number): number {
    return this.#write(() => interruptLaunches(this.#db, studyId));
  }

  launches(studyId: number): readonly StoredLaunch[] {
    return readLaunches(this.#db, studyId);
  }

  addMeasurement(measurement: NewMeasurement): number {
    return this.#write(() => insertMeasurement(this.#db, measurement));
  }

  addImported(launch: ImportedLaunch): { readonly launchId: number; readonly added: boolean } {
    return this.#write(() => insertImported(this.#db, launch));
  }

  measurements(studyId: number): readonly StoredMeasurement[] {
    return readMeasurements(this.#db, studyId);
  }

  requests(measurementId: number): readonly StoredRequest[] {
    return readRequests(this.#db, measurementId);
  }

  gpuSamples(measurementId: number): readonly StoredGpuSample[] {
    return readGpuSamples(this.#db, measurementId);
  }

  measuredKeys(trialId: number): readonly MeasurementKey[] {
    return readKeys(this.#db, trialId);
  }

  trialData(studyId: number): readonly TrialData[] {
    return this.#db.transaction(() => readTrialData(this.#db, studyId))();
  }

  setStudyMeta(studyId: number, key: string, value: unknown): void {
    this.#write(() => {
      this.#db
        .prepare('INSERT OR REPLACE INTO study_meta (study_id, key, value) VALUES (?, ?, ?)')
        .run(studyId, key, JSON.stringify(value ?? null));
    });
  }

  studyMeta(studyId: number, key: string): unknown {
    const value = this.#db
      .prepare('SELECT value FROM study_meta WHERE study_id = ? AND key = ?')
      .pluck()
      .get(studyId, key) as string | undefined;
    return value === undefined ? undefined : JSON.parse(value);
  }

  integrityProblems(): readonly string[] {
    const found = this.#db.pragma('integrity_check') as { integrity_check: string }[];
    const orphans = this.#db.pragma('foreign_key_check') as { table: string; rowid: number }[];
    return [
      ...found.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
      ...orphans.map((row) => `${row.table} row ${row.rowid} points to nothing`),
    ];
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #study(matches: (study: StoredStudy) => boolean): StoredStudy {
    const study = readStudies(this.#db).find(matches);
    if (study === undefined) throw new Error('there is no such study');
    return study;
  }

  /**
   * Runs `change` as one transaction that takes the write lock first: one that began by reading
   * would fail at once, whatever the busy timeout, when another writer came between (E16).
   *
   * A full disk takes back this transaction alone: what was committed before stays readable.
   */
  #write<T>(change: () => T): T {
    try {
      return this.#db.transaction(change).immediate();
    } catch (error) {
      throw explainSqliteError(error, this.#db.name, false);
    }
  }
}
