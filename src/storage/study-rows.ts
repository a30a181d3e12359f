import type { Database } from 'better-sqlite3';
import { UserError } from '../errors.ts';
import type { StoredStudy, StudyIdentity } from './study-store.ts';

interface StudyRow {
  id: number;
  name: string;
  created_at_ms: number;
  workload: string;
  profile: string;
  score_kind: string;
  limits: string;
  sglang_version: string | null;
  baseline_argv: string;
  unit_text: string;
  help_text: string;
  seed: number;
}

/** Studies in the order they were created; with a name, that one or none. */
export function readStudies(db: Database, name?: string): StoredStudy[] {
  const rows =
    name === undefined
      ? db.prepare('SELECT * FROM studies ORDER BY id').all()
      : db.prepare('SELECT * FROM studies WHERE name = ?').all(name);
  return (rows as StudyRow[]).map(fromRow);
}

/** Stores a study; its name must be free. @throws UserError when it is not. */
export function insertStudy(db: Database, identity: StudyIdentity, createdAtMs: number): void {
  if (readStudies(db, identity.name).length > 0) {
    throw new UserError(`there is already a study named ${identity.name}`, {
      hint: 'continue it with the same command, or choose another name',
    });
  }
  db.prepare(
    `INSERT INTO studies (created_at_ms, name, workload, profile, score_kind, limits,
       sglang_version, baseline_argv, unit_text, help_text, seed)
     VALUES (:createdAtMs, :name, :workload, :profile, :scoreKind, :limits,
       :sglangVersion, :baselineArgv, :unitText, :helpText, :seed)`,
  ).run({ ...toRow(identity), createdAtMs: Math.round(createdAtMs) });
}

export function updateStudyRow(db: Database, studyId: number, identity: StudyIdentity): void {
  db.prepare(
    `UPDATE studies SET name = :name, workload = :workload, profile = :profile,
       score_kind = :scoreKind, limits = :limits, sglang_version = :sglangVersion,
       baseline_argv = :baselineArgv, unit_text = :unitText, help_text = :helpText, seed = :seed
     WHERE id = :studyId`,
  ).run({ ...toRow(identity), studyId });
}

function toRow(identity: StudyIdentity) {
  return {
    name: identity.name,
    workload: JSON.stringify(identity.workload),
    profile: JSON.stringify([...identity.profile]),
    scoreKind: identity.scoreKind,
    limits: JSON.stringify(identity.limits),
    sglangVersion: identity.sglangVersion,
    baselineArgv: JSON.stringify(identity.baselineArgv),
    unitText: identity.unitText,
    helpText: identity.helpText,
    seed: identity.seed,
  };
}

function fromRow(row: StudyRow): StoredStudy {
  return {
    id: row.id,
    name: row.name,
    createdAtMs: row.created_at_ms,
    workload: JSON.parse(row.workload) as Record<string, unknown>,
    profile: new Map(JSON.parse(row.profile) as [number, number][]),
    scoreKind: row.score_kind,
    limits: JSON.parse(row.limits) as string[],
    sglangVersion: row.sglang_version,
    baselineArgv: JSON.parse(row.baseline_argv) as string[],
    unitText: row.unit_text,
    helpText: row.help_text,
    seed: row.seed,
  };
}
