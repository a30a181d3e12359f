import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { parseJournal, type SystemdJournal } from '../server/systemd-journal.ts';
import {
  type RestoreReport,
  requireRestored,
  restoreProduction,
} from '../server/systemd-restore.ts';
import { readSystemdService } from '../server/systemd-service.ts';
import { createProbe } from '../study/measurer.ts';
import { proveServing } from '../study/prove-serving.ts';
import type { CliContext } from './context.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { reachTarget } from './reach-target.ts';
import { openStoredStudy } from './read-study.ts';
import { baseUrlOf, flagValue } from './study-template.ts';
import { JOURNAL_META, roadTo, type UnitPlace } from './unit-machine.ts';

/** The usual `TimeoutStartSec` of a unit that loads a large model. */
const SERVING_SECONDS = 1800;

/** `restore`: production again, whatever a sweep left; from any machine with access. */
export function restoreCommand(context: CliContext) {
  return new Command('restore')
    .summary('bring a systemd unit back that a sweep left behind')
    .description(
      'Removes the trial of a sweep from a systemd unit, starts production as it was, and checks it\nby the hashes of its files, its states, its command, and a completion. Harmless when nothing is\nleft.',
    )
    .requiredOption('--unit <unit>', 'unit of production')
    .option('--ssh <host>', 'ssh alias or user@host (default: this machine)')
    .option('--user', 'the unit is one of systemctl --user')
    .option('--study <name>', 'take what production was from this study, if the machine lost it')
    .option('--db <file>', 'database of that study', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep restore --unit sglang.service\n  nightsweep restore --unit sglang.service --ssh gpu-box --study night --db night.sqlite',
    )
    .action(async ({ unit, ssh, user, study, db }) => {
      const journal = study === undefined ? undefined : await storedJournal(db, study);
      await using place = await reachTarget(
        { unit, user: user ?? false, ...(ssh === undefined ? {} : { ssh }) },
        context,
      );
      if (place.unit === undefined) throw new Error('no unit was opened');
      const { unit: access } = place;
      const report = await restoreProduction(access, {
        journal,
        clock: systemClock,
        proveServing: async () => proveUnitServes({ ...place, unit: access }, context),
      });
      for (const line of reportLines(report)) context.stdout(`${line}\n`);
      requireRestored(access, report);
    });
}

/** A real completion at the port that production's own command names. */
async function proveUnitServes(
  { unit, ssh }: UnitPlace,
  { stderr }: Pick<CliContext, 'stderr'>,
): Promise<void> {
  const { argv } = (await readSystemdService(unit)).service;
  await using road = await roadTo(baseUrlOf(argv), ssh);
  const apiKey = flagValue(argv, 'api-key');
  const server = { baseUrl: road.baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
  stderr('waiting until production answers a completion ...');
  await proveServing(createProbe(server, { api: 'native' }), SERVING_SECONDS, systemClock);
}

async function storedJournal(database: string, name: string): Promise<SystemdJournal | undefined> {
  const opened = await openStoredStudy(database, name);
  using store = opened.store;
  const journal = store.studyMeta(opened.study.id, JOURNAL_META);
  return journal === undefined || journal === null
    ? undefined
    : parseJournal(JSON.stringify(journal), `study ${name} in ${database}`);
}

function reportLines({ steps, edits, problems, earlier }: RestoreReport): string[] {
  return [
    ...(earlier === undefined ? [] : [`an earlier restore: ${earlier}`]),
    ...(steps.length === 0 ? ['nothing was left to undo'] : steps),
    ...edits.map((edit) => `since the sweep began: ${edit} (left as it is)`),
    ...(problems.length === 0 ? ['production is as it was before the sweep'] : []),
  ];
}
