import { Command } from '@commander-js/extra-typings';
import { UserError } from '../errors.ts';
import { statusText, studyStatus } from '../report/study-status.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { type SweepProcess, sweepProcess } from '../study/sweep-process.ts';
import type { CliContext } from './context.ts';
import { followLog, GrowingFile } from './follow-log.ts';
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
    .option('--follow', 'print what a detached sweep prints, until it ends')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep status\n  nightsweep status --study demo --json\n  nightsweep status --study demo --follow',
    )
    .action(async ({ study: name, db, json, follow }) => {
      const opened = await openStudies(db, name);
      using store = opened.store;
      const { studies } = opened;
      if (follow === true) {
        if (json === true) throw new UserError('--follow prints text: leave --json out');
        await followSweep(store, studies, context);
        return;
      }
      const all = studies.map((study) => ({
        status: studyStatus(store, study),
        sweep: sweepProcess(store, study.id) ?? null,
      }));
      if (json === true) {
        const shown = all.map(({ status, sweep }) => ({ ...status, sweep }));
        context.stdout(`${JSON.stringify(shown, null, 2)}\n`);
      } else if (all.length === 0) context.stdout('no studies yet\n');
      else {
        const texts = all.map(({ status, sweep }) => [statusText(status), ...sweepLines(sweep)]);
        context.stdout(`${texts.map((lines) => lines.join('\n')).join('\n\n')}\n`);
      }
    });
}

function sweepLines(sweep: SweepProcess | null): readonly string[] {
  if (sweep === null) return [];
  const { pid, machine, log, state } = sweep;
  const who = `process ${String(pid)} on ${machine}`;
  const output = log === null ? '' : `, output in ${log}`;
  switch (state) {
    case 'running':
      return [`a sweep runs: ${who}${output}`];
    case 'ended':
      return [`no sweep runs; the last was ${who}${output}`];
    case 'elsewhere':
      return [`last swept by ${who}, which cannot be seen from here${output}`];
  }
}

/** Prints the output of the study's detached sweep, what is there already first. */
async function followSweep(
  store: StudyStore,
  studies: readonly StoredStudy[],
  { stdout }: CliContext,
): Promise<void> {
  const [study, another] = studies;
  if (study === undefined || another !== undefined) {
    throw new UserError('nothing says which study to follow', {
      hint: `--study with one of: ${studies.map(({ name }) => name).join(', ')}`,
    });
  }
  const log = sweepProcess(store, study.id)?.log;
  if (log === null || log === undefined) {
    throw new UserError(`study ${study.name} has no detached sweep`, {
      hint: 'A sweep started with --detach can be followed; another prints on its own terminal.',
    });
  }
  const isOver = () => sweepProcess(store, study.id)?.state !== 'running';
  await followLog(new GrowingFile(log), stdout, isOver);
  stdout(`\n${statusText(studyStatus(store, study))}\n`);
}

async function openStudies(database: string, name: string | undefined) {
  if (name !== undefined) {
    const { store, study } = await openStoredStudy(database, name);
    return { store, studies: [study] };
  }
  const store = await openDatabase(database, { readOnly: true });
  return { store, studies: store.studies() };
}
