import type { StoredStudy, StoredTrial, StudyStore, TrialState } from '../storage/study-store.ts';
import { assignmentText } from './assignment-text.ts';
import { speed } from './figures.ts';

const STATES: readonly TrialState[] = [
  'planned',
  'completed',
  'partial',
  'infeasible',
  'failed',
  'skipped',
];

/** How far a study is; keys are those of `status --json`. */
export interface StudyStatus {
  readonly study: string;
  readonly created_at: string;
  readonly trials: Readonly<Record<TrialState, number>>;
  readonly launches: number;
  readonly measurements: number;
  /** Trial whose launch has not ended: being measured, or left by a killed sweep. */
  readonly running: { readonly trial: number; readonly started_at: string } | null;
  readonly last_measurement: {
    readonly trial: number;
    readonly assignment: StoredTrial['assignment'];
    readonly concurrency: number;
    readonly output_tokens_per_second: number;
    readonly started_at: string;
  } | null;
}

/** The status of a study; readable while a sweep writes. */
export function studyStatus(store: StudyStore, study: StoredStudy): StudyStatus {
  const trials = store.trials(study.id);
  const byId = new Map(trials.map((trial) => [trial.id, trial]));
  const launches = store.launches(study.id);
  const measurements = store.measurements(study.id);
  const running = launches.findLast(({ state }) => state === 'running');
  const last = measurements.at(-1);
  const lastTrial = last === undefined ? undefined : byId.get(last.trialId);
  return {
    study: study.name,
    created_at: iso(study.createdAtMs),
    trials: Object.fromEntries(
      STATES.map((state) => [state, trials.filter((trial) => trial.state === state).length]),
    ) as Record<TrialState, number>,
    launches: launches.length,
    measurements: measurements.length,
    running:
      running === undefined
        ? null
        : { trial: byId.get(running.trialId)?.number ?? -1, started_at: iso(running.startedAtMs) },
    last_measurement:
      last === undefined || lastTrial === undefined
        ? null
        : {
            trial: lastTrial.number,
            assignment: lastTrial.assignment,
            concurrency: last.metrics.concurrency,
            output_tokens_per_second: last.metrics.outputTokensPerSecond,
            started_at: iso(last.startedAtMs),
          },
  };
}

/** The status in a few lines. */
export function statusText(status: StudyStatus): string {
  const counts = STATES.filter((state) => status.trials[state] > 0).map(
    (state) => `${status.trials[state]} ${state}`,
  );
  const { running, last_measurement: last } = status;
  return [
    `study ${status.study}, created ${status.created_at}`,
    `trials: ${counts.length === 0 ? 'none' : counts.join(', ')}`,
    `launches: ${status.launches}, measurements: ${status.measurements}`,
    ...(running === null
      ? []
      : [`open launch: trial ${running.trial}, started ${running.started_at}`]),
    last === null
      ? 'nothing is measured yet'
      : `last measurement: trial ${last.trial} (${assignmentText(last.assignment)}) at C=${last.concurrency}: ` +
        `${speed(last.output_tokens_per_second)} tok/s, ${last.started_at}`,
  ].join('\n');
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
