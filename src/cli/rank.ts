import { Command } from '@commander-js/extra-typings';
import { storedLimits } from '../config/limits.ts';
import { parseProfile } from '../config/profile.ts';
import { EXIT } from '../errors.ts';
import type { Decision } from '../ranking/decide.ts';
import { rankTrials } from '../ranking/rank-trials.ts';
import type { Ranking } from '../ranking/ranking.ts';
import { type ScoreKind, scoreKinds } from '../ranking/score.ts';
import { rankingJson } from '../report/ranking-json.ts';
import { rankingReport } from '../report/ranking-report.ts';
import { trialPoints } from '../report/study-points.ts';

import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf, wholeNumber } from './options.ts';
import { openStoredStudy } from './read-study.ts';
import { tellOfUnfinished } from './unfinished.ts';

export interface RankOptions {
  readonly profile?: ReadonlyMap<number, number> | undefined;
  readonly score?: ScoreKind | undefined;
}

/** Ranks what a study has measured, by its own profile and score unless others are given. */
export function rankStudy(store: StudyStore, study: StoredStudy, options: RankOptions): Ranking {
  return rankTrials({
    trials: store.trialData(study.id),
    profile: options.profile ?? study.profile,
    scoreKind: options.score ?? (study.scoreKind as ScoreKind),
    limits: storedLimits(study.limits),
  });
}

/** The exit code that a decision deserves (README, "Commands and exit codes"). */
export function exitCodeOf(decision: Decision): number {
  switch (decision.kind) {
    case 'winner':
      return EXIT.done;
    case 'keep':
      return EXIT.keepWhatYouHave;
    case 'nothing-feasible':
      return EXIT.nothingFeasible;
  }
}

/** `rank`: the ranking from the database; nothing is measured again. */
export function rankCommand(context: CliContext) {
  return new Command('rank')
    .summary('rank what a study has measured')
    .description('Ranks what a study has measured, also with another profile or kind of score.')
    .requiredOption('--study <name>', 'study in the database')
    .option(
      '--profile <list>',
      'share of time by requests in flight: 1:0.5,4:0.3,16:0.2',
      parseProfile,
    )
    .option('--score <kind>', scoreKinds.join(', '), oneOf(scoreKinds))
    .option('--json', 'print JSON')
    .option('--rows <n>', 'trials shown in the table', wholeNumber(1))
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep rank --study demo\n  nightsweep rank --study demo --profile 64:0.5,128:0.5 --score tokens --json',
    )
    .action(async ({ study: name, db, json, profile, score, rows }) => {
      const opened = await openStoredStudy(db, name);
      using store = opened.store;
      const { study } = opened;
      tellOfUnfinished(store, study, context);
      const ranking = rankStudy(store, study, { profile, score });
      if (json === true) {
        context.stdout(`${JSON.stringify(rankingJson(study.name, ranking), null, 2)}\n`);
        return;
      }
      const points = trialPoints(store.trials(study.id), store.measurements(study.id));
      const report = rankingReport(
        { study: study.name, ranking, points },
        { color: context.color, ...(rows === undefined ? {} : { rows }) },
      );
      context.stdout(`${report}\n`);
    });
}
