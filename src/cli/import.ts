import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { UserError } from '../errors.ts';
import { assignmentText } from '../report/assignment-text.ts';
import { parseAssignment } from '../storage/import/assignment-text.ts';
import { storeImport } from '../storage/import/store-import.ts';
import type { CliContext } from './context.ts';
import { openDatabase } from './open-database.ts';
import { DEFAULT_DATABASE } from './options.ts';

/** `import`: measurements made elsewhere, as a trial of a study. */
export function importCommand(context: CliContext) {
  return new Command('import')
    .summary('import measurements made elsewhere')
    .description(
      'Imports the printed table of the reference benchmark script, or JSON lines of SGLang’s\nbench_serving, as measurements of a named assignment.',
    )
    .argument('<file>', 'printed table or JSONL')
    .requiredOption('--study <name>', 'study to add to; created when there is none')
    .requiredOption('--assignment <list>', 'flag=value,flag=value; ~ for an absent flag')
    .option('--baseline', 'these are the numbers of production')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep import no-mtp.txt --study q --assignment speculative-algorithm=~ --baseline\n  nightsweep import mtp.txt --study q --assignment speculative-algorithm=NEXTN,speculative-num-steps=1',
    )
    .action(async (file, options) => {
      const assignment = parseAssignment(options.assignment);
      const text = await readText(file);

      using store = await openDatabase(options.db);
      const { trial, metrics, added } = storeImport(store, {
        study: options.study,
        assignment,
        isBaseline: options.baseline ?? false,
        text,
        source: basename(file),
        nowMs: Date.now(),
      });
      const name = `trial ${String(trial.number)} (${assignmentText(trial.assignment)})`;
      context.stdout(
        added
          ? `imported ${String(metrics.length)} measurements as ${name} of study ${options.study}\n`
          : `${file} was imported before as ${name}: nothing added\n`,
      );
    });
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UserError(`${file} cannot be read`, { cause: error });
  }
}
