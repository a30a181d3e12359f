import type { Database } from 'better-sqlite3';
import { UserError } from '../errors.ts';
import { type Assignment, assignmentKey } from '../search-space/assignment.ts';
import type { StoredTrial, TrialState } from './study-store.ts';

interface TrialRow {
  id: number;
  number: number;
  assignment: string;
  is_baseline: number;
  state: TrialState;
  cause: string | null;
  reason: string | null;
}

/** A trial to be kept, as `planTrials` takes it. */
export interface PlannedTrial {
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  readonly state: TrialState;
  readonly cause?: string;
  readonly reason?: string;
}

/** Trials by number. */
export function readTrials(db: Database, studyId: number): StoredTrial[] {
  const rows = db
    .prepare(`SELECT ${TRIAL_COLUMNS} FROM trials WHERE study_id = ? ORDER BY number`)
    .all(studyId) as TrialRow[];
  return rows.map(trialOf);
}

/** Undefined when there is none of this id. */
export function readTrial(db: Database, trialId: number): StoredTrial | undefined {
  const row = db.prepare(`SELECT ${TRIAL_COLUMNS} FROM trials WHERE id = ?`).get(trialId);
  return row === undefined ? undefined : trialOf(row as TrialRow);
}

const TRIAL_COLUMNS = 'id, number, assignment, is_baseline, state, cause, reason';

function trialOf(row: TrialRow): StoredTrial {
  return {
    id: row.id,
    number: row.number,
    assignment: JSON.parse(row.assignment) as Assignment,
    isBaseline: row.is_baseline === 1,
    state: row.state,
    cause: row.cause,
    reason: row.reason,
  };
}

/**
 * Adds the trials whose assignment is new. Number 0 is kept for the baseline; the others are
 * numbered from 1 in the order they come. What was never launched takes the new plan's verdict:
 * a rule that was added or removed turns planned into skipped and back.
 */
export function mergeTrials(db: Database, studyId: number, planned: readonly PlannedTrial[]): void {
  const known = db
    .prepare('SELECT id FROM trials WHERE study_id = ? AND assignment_key = ?')
    .pluck();
  const insert = db.prepare(
    `INSERT INTO trials (study_id, number, assignment, assignment_key, is_baseline, state, cause, reason)
     VALUES (:studyId, :number, :assignment, :key, :isBaseline, :state, :cause, :reason)`,
  );
  const update = db.prepare(
    `UPDATE trials SET state = :state, cause = :cause, reason = :reason
     WHERE id = :id AND state IN ('planned', 'skipped') AND :state IN ('planned', 'skipped')`,
  );
  let next = nextNumber(db, studyId);
  for (const { assignment, isBaseline, state, cause = null, reason = null } of planned) {
    const key = assignmentKey(assignment);
    const id = known.get(studyId, key) as number | undefined;
    if (id !== undefined) {
      update.run({ id, state, cause, reason });
      if (isBaseline) makeBaseline(db, id);
      continue;
    }
    if (isBaseline) refuseSecondBaseline(db, studyId);
    insert.run({
      studyId,
      number: isBaseline ? 0 : next,
      assignment: JSON.stringify(assignment),
      key,
      isBaseline: isBaseline ? 1 : 0,
      state,
      cause,
      reason,
    });
    if (!isBaseline) next += 1;
  }
}

/** Makes a trial the baseline and numbers it 0. @throws UserError when another one is. */
export function makeBaseline(db: Database, trialId: number): void {
  const row = db.prepare('SELECT study_id, is_baseline FROM trials WHERE id = ?').get(trialId) as
    | { study_id: number; is_baseline: number }
    | undefined;
  if (row === undefined) throw new Error(`there is no trial with id ${trialId}`);
  if (row.is_baseline === 1) return;
  refuseSecondBaseline(db, row.study_id);
  db.prepare('UPDATE trials SET is_baseline = 1, number = 0 WHERE id = ?').run(trialId);
}

function refuseSecondBaseline(db: Database, studyId: number): void {
  const other = db
    .prepare('SELECT assignment FROM trials WHERE study_id = ? AND is_baseline = 1')
    .pluck()
    .get(studyId) as string | undefined;
  if (other === undefined) return;
  throw new UserError(`the study has another baseline already: ${other}`, {
    hint: 'a study compares with one baseline; use another study name, or leave --baseline out',
  });
}

function nextNumber(db: Database, studyId: number): number {
  const highest = db
    .prepare('SELECT max(number) FROM trials WHERE study_id = ?')
    .pluck()
    .get(studyId) as number | null;
  return (highest ?? 0) + 1;
}
