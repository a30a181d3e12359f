import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { parseProfile } from '../config/profile.ts';
import { UserError } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { makeFolder } from '../make-folder.ts';
import { decide } from '../ranking/decide.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { scoreKinds } from '../ranking/score.ts';
import { decisionText } from '../report/decision-text.ts';
import { redactText } from '../sglang/redact.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { recommend } from '../study/recommendation.ts';
import type { UnitToChange } from '../study/stored-unit.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf, wholeNumber } from './options.ts';
import { exitCodeOf, rankStudy } from './rank.ts';
import { openStoredStudy } from './read-study.ts';

/** `recommend`: the service file of the winner, or of a trial that the user names. */
export function recommendCommand(context: CliContext) {
  return new Command('recommend')
    .summary('write the recommended service file')
    .description(
      'Writes the complete unit, a drop-in, the difference to production and the launch command.',
    )
    .requiredOption('--study <name>', 'study in the database')
    .requiredOption('--out <folder>', 'folder to write to')
    .option('--trial <n>', 'this trial instead of the winner', wholeNumber(0))
    .option('--profile <list>', 'rank with this profile: 1:0.5,4:0.3,16:0.2', parseProfile)
    .option('--score <kind>', scoreKinds.join(', '), oneOf(scoreKinds))
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep recommend --study demo --out recommended\n  nightsweep recommend --study demo --out recommended --trial 4',
    )
    .action(async ({ study: name, db, out, trial, profile, score }) => {
      const opened = await openStoredStudy(db, name);
      using store = opened.store;
      const { study } = opened;
      const ranking = rankStudy(store, study, { profile, score });
      const decision = decide(ranking);
      if (trial === undefined) context.stdout(`${decisionText(ranking, decision)}\n`);
      const chosen = trial === undefined ? recommendedTrial(ranking) : trialOf(ranking, trial);
      context.setExitCode(trial === undefined ? exitCodeOf(decision) : 0);
      if (chosen === undefined) return;
      context.stdout(await writeRecommendation(store, study, chosen, out));
    });
}

/** The winner, or production itself when nothing beats it; undefined when nothing is feasible. */
export function recommendedTrial(ranking: Ranking): RankedTrial | undefined {
  const decision = decide(ranking);
  if (decision.kind === 'winner') return decision.winner;
  return decision.kind === 'keep' ? decision.baseline : undefined;
}

function trialOf(ranking: Ranking, number: number): RankedTrial {
  const found = ranking.trials.find(({ trial }) => trial === number);
  if (found !== undefined) return found;
  const known = ranking.trials.map(({ trial }) => String(trial)).join(', ');
  throw new UserError(`trial ${String(number)} is not measured`, { hint: `measured: ${known}` });
}

/** Writes the files and returns what to tell the user. */
export async function writeRecommendation(
  store: StudyStore,
  study: StoredStudy,
  trial: RankedTrial,
  folder: string,
  running?: UnitToChange,
): Promise<string> {
  const { files, diff } = await recommend(store, study, trial.assignment, localHost, running);
  try {
    makeFolder(folder);
    await removeEarlier(folder);
    for (const { name, text } of files) {
      // Whoever may read production's keys is decided by production's own file.
      const mode = redactText(text) === text ? 0o644 : 0o600;
      await writeFile(join(folder, name), text, { mode });
    }
  } catch (error) {
    throw new UserError(`the recommendation cannot be written to ${folder}`, { cause: error });
  }
  const lines = files.map(({ name, what }) => `  ${join(folder, name)}  ${what}`);
  const change = diff === '' ? '' : `\n${diff}`;
  return `\n${lines.join('\n')}\n${change}`;
}

/** What an earlier recommendation wrote: a drop-in left beside another unit would be installed. */
async function removeEarlier(folder: string): Promise<void> {
  const written =
    /^(?:recommended\.(?:service|diff)|recommended-.+\.conf|(?:zz-)?nightsweep\.conf|launch-command\.txt)$/;
  for (const name of await readdir(folder)) if (written.test(name)) await rm(join(folder, name));
}
