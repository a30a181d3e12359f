import { createHash } from 'node:crypto';
import type { PointMetrics } from '../../metrics/point-metrics.ts';
import { type Assignment, assignmentKey } from '../../search-space/assignment.ts';
import type { StoredStudy, StoredTrial, StudyStore } from '../study-store.ts';
import { importMeasurements } from './import-measurements.ts';

export interface ImportRequest {
  /** Name of the study; it is created when there is none. */
  readonly study: string;
  readonly assignment: Assignment;
  readonly isBaseline: boolean;
  /** Content of the file and its name. */
  readonly text: string;
  readonly source: string;
  readonly nowMs: number;
}

export interface ImportResult {
  readonly study: StoredStudy;
  readonly trial: StoredTrial;
  readonly metrics: readonly PointMetrics[];
  /** False when this content was imported for this assignment before: nothing was added. */
  readonly added: boolean;
}

/**
 * Stores the measurements of a file as a trial of a study. Another file for the same assignment
 * is a replicate; the same content again adds nothing.
 *
 * @throws UserError when the file cannot be read (before anything is stored) or the study has
 *   another baseline.
 */
export function storeImport(store: StudyStore, request: ImportRequest): ImportResult {
  const { assignment, isBaseline, text, source, nowMs } = request;
  const metrics = importMeasurements({ text, source });
  const study = store.findStudy(request.study) ?? createImportStudy(store, request.study, nowMs);
  const key = assignmentKey(assignment);
  const trial = store
    .planTrials(study.id, [{ assignment, isBaseline, state: 'planned' }])
    .find((stored) => assignmentKey(stored.assignment) === key);
  if (trial === undefined) throw new Error('a trial that was just planned is missing');
  const { added } = store.addImported({
    trialId: trial.id,
    source,
    sourceHash: createHash('sha256').update(text.trim()).digest('hex'),
    importedAtMs: nowMs,
    metrics,
    conditions: { importedFrom: source },
  });
  if (added) store.setTrialState(trial.id, 'completed', null, null);
  return { study, trial, metrics, added };
}

/** A study of imports alone has no workload, unit or profile of its own: `rank` names the profile. */
function createImportStudy(store: StudyStore, name: string, nowMs: number): StoredStudy {
  return store.createStudy(
    {
      name,
      workload: { imported: true },
      profile: new Map(),
      scoreKind: 'relative',
      limits: [],
      sglangVersion: null,
      baselineArgv: [],
      unitText: '',
      helpText: '',
      seed: 0,
    },
    nowMs,
  );
}
