import { join } from 'node:path';
import type { Study } from '../config/study.ts';
import { EXIT } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { decide } from '../ranking/decide.ts';
import { decisionText } from '../report/decision-text.ts';
import { rankingReport } from '../report/ranking-report.ts';
import { trialPoints } from '../report/study-points.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import type { SweepEnd } from '../study/run-study.ts';
import type { UnitToChange } from '../study/stored-unit.ts';
import { Interrupted } from './boundary.ts';
import type { CliContext } from './context.ts';
import { createNotifier, type Notify } from './notify.ts';
import { exitCodeOf, rankStudy } from './rank.ts';
import { recommendedTrial, writeRecommendation } from './recommend.ts';
import { writeReport } from './report.ts';

/** Trials in the table at the end of a sweep; `rank` and the report show all. */
const ROWS = 12;

export interface Conclusion {
  readonly study: Study;
  readonly stored: StoredStudy;
  readonly store: StudyStore;
  readonly end: SweepEnd;
  /** For the recommendation and the report. */
  readonly folder: string;
  readonly database: string;
  /** The unit as systemd runs it; undefined for other targets. */
  readonly unit: UnitToChange | undefined;
}

/**
 * Prints the ranking, writes the recommendation and the report, tells whoever wants to be told,
 * and sets the exit code.
 */
export async function conclude(
  { study, stored, store, end, folder, database, unit }: Conclusion,
  context: CliContext,
): Promise<void> {
  if (end.state !== 'finished') context.stderr(endText(end));
  const current = store.findStudy(stored.name) ?? stored;
  const ranking = rankStudy(store, current, {});
  const points = trialPoints(store.trials(current.id), store.measurements(current.id));
  const report = rankingReport(
    { study: current.name, ranking, points },
    { color: context.color, rows: ROWS },
  );
  context.stdout(`\n${report}\n`);
  const decision = decide(ranking);
  const trial = recommendedTrial(ranking);
  if (trial !== undefined) {
    context.stdout(await writeRecommendation(store, current, trial, folder, unit));
  }
  const page = join(folder, 'report.html');
  await writeReport(store, current, page, context.version, {}, unit);
  context.stdout(`\nReport: ${page}\nMeasurements: ${database}   Logs: ${join(folder, 'logs')}\n`);
  const isTrouble = end.state === 'broken-environment';
  await notifierOf(
    study,
    context,
  )({
    event: isTrouble ? 'trouble' : 'end',
    study: study.name,
    text: isTrouble ? endText(end) : decisionText(ranking, decision),
  });
  // What is ranked so far may be half of the plan: nobody may take it for the result of a night.
  context.setExitCode(isTrouble ? EXIT.operatorError : exitCodeOf(decision));
}

/** Tells people that a sweep ended without a result; an interrupt is their own doing. */
export async function notifyOfError(
  study: Study,
  error: unknown,
  context: CliContext,
): Promise<void> {
  if (error instanceof Interrupted) return;
  const text = error instanceof Error ? error.message : String(error);
  await notifierOf(study, context)({ event: 'trouble', study: study.name, text });
}

function notifierOf(study: Study, context: CliContext): Notify {
  return createNotifier(study.notify, {
    host: localHost,
    environment: context.environment,
    warn: context.stderr,
  });
}

function endText(end: SweepEnd): string {
  switch (end.state) {
    case 'finished':
      return 'finished';
    case 'budget-spent':
      return `the budget is spent, ${String(end.launchesLeft)} launches are left: the same command goes on`;
    case 'broken-environment':
      return `the sweep stopped, since the machine fails and not the flags: ${end.reason}`;
  }
}
