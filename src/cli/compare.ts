import { Command } from '@commander-js/extra-typings';
import { parseProfile } from '../config/profile.ts';
import { UserError } from '../errors.ts';
import type { Profile } from '../ranking/score.ts';
import { type ComparedTrial, comparisonText, differencesOf } from '../report/comparison.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { rankStudy } from './rank.ts';
import { openStoredStudy } from './read-study.ts';
import { recommendedTrial } from './recommend.ts';

interface Side {
  readonly name: string;
  readonly trial: ComparedTrial;
  readonly profile: Profile;
}

/** `compare`: two configurations, also of different studies or databases. */
export function compareCommand(context: CliContext) {
  return new Command('compare')
    .summary('compare two configurations, also across studies')
    .description(
      'Compares two configurations: STUDY (what it recommends) or STUDY:TRIAL. Refuses what is not\ncomparable (another workload, model or SGLang version, or a simulated server) and names what\nelse differs.',
    )
    .argument('<a>', 'STUDY or STUDY:TRIAL')
    .argument('<b>', 'STUDY or STUDY:TRIAL')
    .option('--profile <list>', 'profile to compare at (default: that of A)', parseProfile)
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .option('--db-b <file>', 'database of B (default: that of A)')
    .option('--force', 'compare although the work differs')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep compare demo:0 demo:4\n  nightsweep compare november december --db-b december.sqlite',
    )
    .action(async (first, second, { profile, db, dbB, force }) => {
      const a = await readSide(db, first);
      const b = await readSide(dbB ?? db, second);
      const differences = differencesOf(a.trial, b.trial);
      const forbidding = differences.filter(({ forbids }) => forbids);
      if (forbidding.length > 0 && force !== true) {
        const shown = forbidding.map(({ what, a: own, b: other }) => `${what} ${own} and ${other}`);
        throw new UserError(`${a.name} and ${b.name} are not comparable: ${shown.join('; ')}`, {
          hint: '--force compares them nevertheless',
        });
      }
      for (const { what, a: own, b: other } of differences) {
        context.stdout(`differs: ${what}: A ${own}, B ${other}\n`);
      }
      const text = comparisonText(a.trial, b.trial, profile ?? a.profile, [a.name, b.name]);
      context.stdout(`${differences.length === 0 ? '' : '\n'}${text}\n`);
    });
}

/** `demo:4`, or `demo` for what the study recommends. */
async function readSide(database: string, written: string): Promise<Side> {
  const [, name = '', number] = /^(.*?)(?::(\d+))?$/.exec(written) ?? [];
  const opened = await openStoredStudy(database, name);
  using store = opened.store;
  const { study } = opened;
  const trial =
    number === undefined ? recommendedTrial(rankStudy(store, study, {}))?.trial : Number(number);
  const all = store.trialData(study.id);
  const data = all.find((one) => one.trial === trial);
  if (data === undefined || data.cells.size === 0) {
    const known = all.filter(({ cells }) => cells.size > 0).map((one) => one.trial);
    throw new UserError(
      trial === undefined
        ? `study ${name} recommends no trial`
        : `trial ${String(trial)} of ${name} is not measured`,
      { hint: `measured: ${known.join(', ')}` },
    );
  }
  const stored = store.trials(study.id).find((one) => one.number === data.trial);
  const own = store.measurements(study.id).filter(({ trialId }) => trialId === stored?.id);
  return {
    name: `${name}, trial ${String(data.trial)}`,
    profile: study.profile,
    trial: {
      study,
      data,
      launches: store.launches(study.id).filter(({ trialId }) => trialId === stored?.id),
      isSimulated: own.some(({ metrics }) =>
        metrics.marks.some(({ code }) => code === 'simulated'),
      ),
    },
  };
}
