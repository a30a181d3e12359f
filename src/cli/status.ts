import { Command } from '@commander-js/extra-typings';
import { statusText, studyStatus } from '../report/study-status.ts';
import type { CliContext } from './context.ts';
import { openDatabase } from './open-database.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { openStoredStudy } from './read-study.ts';

/** `status`: how far studies are; readable while a sweep runs. */
export function statusCommand(context: CliContext) {
  return new Command('status')
    .summary('show how far studies are')
    .description('Shows how far the studies of a database are, also while a sweep runs.')
    .option('--study <name>', 'only this study')
    .option('--json', 'print JSON')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep status\n  nightsweep status --study demo --json',
    )
    .action(async ({ study: name, db, json }) => {
      const opened = await openStudies(db, name);
      using store = opened.store;
      const { studies } = opened;
      const all = studies.map((study) => studyStatus(store, study));
      if (json === true) context.stdout(`${JSON.stringify(all, null, 2)}\n`);
      else if (all.length === 0) context.stdout('no studies yet\n');
      else context.stdout(`${all.map(statusText).join('\n\n')}\n`);
    });
}

async function openStudies(database: string, name: string | undefined) {
  if (name !== undefined) {
    const { store, study } = await openStoredStudy(database, name);
    return { store, studies: [study] };
  }
  const store = await openDatabase(database, { readOnly: true });
  return { store, studies: store.studies() };
}
