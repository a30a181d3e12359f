import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { loadStudy } from '../config/load-study.ts';
import { parseProfile } from '../config/profile.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { makeFolder } from '../make-folder.ts';
import { decide } from '../ranking/decide.ts';
import type { RankedTrial, Ranking } from '../ranking/ranking.ts';
import { type ScoreKind, scoreKinds } from '../ranking/score.ts';
import { decisionText } from '../report/decision-text.ts';
import { redactText } from '../sglang/redact.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { recommend } from '../study/recommendation.ts';
import type { UnitToChange } from '../study/stored-unit.ts';
import { applyRecommendation } from './apply.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf, wholeNumber } from './options.ts';
import { exitCodeOf, rankStudy } from './rank.ts';
import { openStoredStudy } from './read-study.ts';
import { revertRecommendation } from './revert.ts';
import { tellOfUnfinished } from './unfinished.ts';

interface RecommendOptions {
  readonly study?: string | undefined;
  readonly out?: string | undefined;
  readonly trial?: number | undefined;
  readonly profile?: ReadonlyMap<number, number> | undefined;
  readonly score?: ScoreKind | undefined;
  readonly apply?: true | undefined;
  readonly revert?: true | undefined;
  readonly takeOver?: true | undefined;
  readonly db: string;
}

/** `recommend`: the service file of the winner, or of a trial that the user names. */
export function recommendCommand(context: CliContext) {
  return new Command('recommend')
    .summary('write the recommended service file, or put it into production')
    .description(
      `Writes the complete unit, a drop-in, the difference to production and the launch command.

With --apply it puts the drop-in into production: one restart, proof of command, variables and
server info, a completion, the profile measured again; production comes back by itself when it is
not healthy, or worse than the baseline beyond noise. --revert takes the drop-in back.`,
    )
    .argument('[study-file]', 'study file: names the study, and the target of --apply and --revert')
    .option('--study <name>', 'study in the database (default: that of the study file)')
    .option('--out <folder>', 'folder to write to')
    .option('--trial <n>', 'this trial instead of the winner', wholeNumber(0))
    .option('--profile <list>', 'rank with this profile: 1:0.5,4:0.3,16:0.2', parseProfile)
    .option('--score <kind>', scoreKinds.join(', '), oneOf(scoreKinds))
    .option('--apply', 'put it into production on the target of the study file')
    .option('--revert', 'take the last one back out of production')
    .option('--take-over', 'take the unit from a sweep of which nothing is heard any more')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      `
Examples:
  nightsweep recommend --study demo --out recommended
  nightsweep recommend --study demo --out recommended --trial 4
  nightsweep recommend --apply study.yaml
  nightsweep recommend --revert study.yaml`,
    )
    .action(async (file, options) => {
      const study = file === undefined ? undefined : await loadStudy(file);
      if (options.revert === true) {
        if (options.apply === true) {
          throw new UserError('--apply and --revert are given: one of them is meant');
        }
        const { takeOver = false } = options;
        await revertRecommendation(requireFile(study, '--revert'), { takeOver }, context);
        return;
      }
      await recommendStudy(study, options, context);
    });
}

async function recommendStudy(
  file: Study | undefined,
  options: RecommendOptions,
  context: CliContext,
): Promise<void> {
  const { out, trial, profile, score, apply = false, takeOver = false, db } = options;
  const target = apply ? requireFile(file, '--apply') : undefined;
  if (out === undefined && !apply) {
    throw new UserError('nothing says where to write', {
      hint: 'nightsweep recommend --out FOLDER, or --apply STUDY.yaml to put it into production',
    });
  }
  const name = options.study ?? file?.name;
  if (name === undefined) {
    throw new UserError('nothing says which study', { hint: '--study NAME, or a study file' });
  }
  const opened = await openStoredStudy(db, name, { write: apply });
  using store = opened.store;
  const { study: stored } = opened;
  tellOfUnfinished(store, stored, context);
  const ranking = rankStudy(store, stored, { profile, score });
  const decision = decide(ranking);
  const chosen = trial === undefined ? recommendedTrial(ranking) : trialOf(ranking, trial);
  const written =
    chosen === undefined || out === undefined
      ? ''
      : await writeRecommendation(store, stored, chosen, out);
  if (trial === undefined) context.stdout(`${decisionText(ranking, decision)}\n`);
  context.stdout(written);
  context.setExitCode(trial === undefined ? exitCodeOf(decision) : 0);
  if (target === undefined || chosen === undefined) return;
  if (chosen.isBaseline) {
    context.stdout('that is what production runs: nothing is changed\n');
    return;
  }
  await applyRecommendation(
    {
      study: target,
      store,
      stored,
      trial: chosen,
      scoreKind: ranking.scoreKind,
      database: db,
      folder: out,
      takeOver,
    },
    context,
  );
}

function requireFile(study: Study | undefined, option: string): Study {
  if (study !== undefined) return study;
  throw new UserError(`${option} needs the study file: it says where production lives`, {
    hint: `nightsweep recommend ${option} STUDY.yaml`,
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
    /^(?:recommended\.(?:service|diff)|recommended-.+\.conf|(?:z+-)?nightsweep[-a-z0-9]*\.conf|launch-command\.txt)$/;
  for (const name of await readdir(folder)) if (written.test(name)) await rm(join(folder, name));
}
