import { writeFile } from 'node:fs/promises';
import { Command } from '@commander-js/extra-typings';
import { UserError } from '../errors.ts';
import { type ExportFormatName, exportFormats } from '../report/export-study.ts';
import { studyRecords } from '../report/study-records.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE, oneOf } from './options.ts';
import { openStoredStudy } from './read-study.ts';

const FORMATS = Object.keys(exportFormats) as ExportFormatName[];

/** `export`: everything a study holds, as text. */
export function exportCommand(context: CliContext) {
  return new Command('export')
    .summary('export a study as JSON, JSONL or CSV')
    .description('Writes all trials, launches and measurements of a study as JSON, JSONL or CSV.')
    .requiredOption('--study <name>', 'study in the database')
    .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'json')
    .option('--requests', 'with every single request')
    .option('--out <file>', 'file to write; standard output without')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep export --study demo --format csv --out demo.csv\n  nightsweep export --study demo --format jsonl --requests',
    )
    .action(async ({ study: name, db, format, requests, out }) => {
      const opened = await openStoredStudy(db, name);
      using store = opened.store;
      const { study } = opened;
      const records = studyRecords(store, study, { withRequests: requests ?? false });
      const text = exportFormats[format](records);
      if (out === undefined) {
        context.stdout(text);
        return;
      }
      try {
        await writeFile(out, text);
      } catch (error) {
        throw new UserError(`${out} cannot be written`, { cause: error });
      }
    });
}
