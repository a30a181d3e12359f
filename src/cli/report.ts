import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { parseProfile } from '../config/profile.ts';
import { UserError } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { scoreKinds } from '../ranking/score.ts';
import type { RankingOutcome, RecommendationOutcome } from '../report/html-report-data.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { recommend, UNIT_PATH_META } from '../study/recommendation.ts';
import type { UnitToChange } from '../study/stored-unit.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf } from './options.ts';
import { type RankOptions, rankStudy } from './rank.ts';
import { openStoredStudy } from './read-study.ts';
import { recommendedTrial } from './recommend.ts';

/** `report`: the study as one HTML page. */
export function reportCommand(context: CliContext) {
  return new Command('report')
    .summary('write the HTML report of a study')
    .description(
      'Writes one self-contained HTML file: what to deploy and how sure it is, pictures, the ranking,\nthe night, and every trial that failed. Also while a sweep runs or after it was aborted.',
    )
    .requiredOption('--study <name>', 'study in the database')
    .requiredOption('--out <file>', 'HTML file to write')
    .option('--profile <list>', 'rank with this profile: 1:0.5,4:0.3,16:0.2', parseProfile)
    .option('--score <kind>', scoreKinds.join(', '), oneOf(scoreKinds))
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText('after', '\nExample:\n  nightsweep report --study demo --out report.html')
    .action(async ({ study: name, db, out, profile, score }) => {
      const opened = await openStoredStudy(db, name);
      using store = opened.store;
      await writeReport(store, opened.study, out, context.version, { profile, score });
      context.stdout(`${out}\n`);
    });
}

/**
 * Writes the HTML report of a study.
 *
 * @param version of nightsweep, named in the report.
 * @throws UserError when the file cannot be written.
 */
export async function writeReport(
  store: StudyStore,
  study: StoredStudy,
  file: string,
  version: string,
  options: RankOptions = {},
  running?: UnitToChange,
): Promise<void> {
  const outcome = rankingOutcome(store, study, options);
  const unitPath = store.studyMeta(study.id, UNIT_PATH_META);
  const htmlReport = await loadHtmlReport();
  const text = htmlReport({
    store,
    study,
    outcome,
    recommendation: await recommendationOutcome(store, study, outcome, running),
    unitPath:
      study.unitText === '' ? null : typeof unitPath === 'string' ? unitPath : 'sglang.service',
    version,
    madeAtMs: systemClock.wallMs(),
  });
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  } catch (error) {
    throw new UserError(`the report cannot be written to ${file}`, { cause: error });
  }
}

/** Pictures cost a tenth of a second to load: only this command pays for them. */
async function loadHtmlReport() {
  const { htmlReport } = await import('../report/html-report.ts');
  return htmlReport;
}

/** A sweep that was aborted early cannot be ranked, and its report says why. */
function rankingOutcome(
  store: StudyStore,
  study: StoredStudy,
  options: RankOptions,
): RankingOutcome {
  try {
    return { state: 'ranked', ranking: rankStudy(store, study, options) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { state: 'unranked', problem: sentence(error) };
  }
}

async function recommendationOutcome(
  store: StudyStore,
  study: StoredStudy,
  outcome: RankingOutcome,
  running: UnitToChange | undefined,
): Promise<RecommendationOutcome> {
  const trial = outcome.state === 'ranked' ? recommendedTrial(outcome.ranking) : undefined;
  if (trial === undefined) return { state: 'none', problem: 'no trial is recommended' };
  try {
    const recommendation = await recommend(store, study, trial.assignment, localHost, running);
    return { state: 'made', recommendation };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { state: 'none', problem: sentence(error) };
  }
}

function sentence({ message, hint }: UserError): string {
  return hint === undefined ? message : `${message} (${hint})`;
}
