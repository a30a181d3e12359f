import { dirname, join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { loadStudy } from '../config/load-study.ts';
import type { Study } from '../config/study.ts';
import { EXIT, UserError } from '../errors.ts';
import type { PreflightCheck } from '../server/preflight-check.ts';
import { lockOwner } from '../server/systemd-lock.ts';
import { preflightSystemd } from '../server/systemd-preflight.ts';
import { processesOf } from '../server/systemd-stop.ts';
import { showUnit } from '../server/systemd-unit-state.ts';
import { preflight } from '../study/preflight.ts';
import { type PreparedSweep, prepareSweep } from '../study/prepare.ts';
import type { CliContext } from './context.ts';
import { preflightOptions } from './machine.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { type Place, reachTarget } from './reach-target.ts';
import { leaseOf, requireRunsAsWritten } from './unit-machine.ts';

/** `doctor`: everything that a sweep would check before it touches anything. */
export function doctorCommand(context: CliContext) {
  return new Command('doctor')
    .summary('check whether a sweep of a study could run, and what is in its way')
    .description(
      'Runs every check that a sweep runs before it touches anything, goes on where one fails, and\nsays for each failure what to do. Changes nothing of production.',
    )
    .argument('<study>', 'study file')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep doctor study.yaml\n  nightsweep doctor study.yaml --db night.sqlite',
    )
    .action(async (path, { db }) => {
      const study = await loadStudy(path);
      const found: PreflightCheck[] = [
        { name: 'study', state: 'passed', found: `${path} is a study file without mistakes` },
      ];
      await examine(study, db, found, context);
      for (const check of found) context.stdout(`${checkText(check)}\n`);
      const failed = found.some(({ state }) => state === 'failed');
      context.setExitCode(failed ? EXIT.operatorError : EXIT.done);
    });
}

async function examine(
  study: Study,
  database: string,
  found: PreflightCheck[],
  context: CliContext,
): Promise<void> {
  const { ssh } = study.target;
  const reached = await attempt('machine', found, async () => reachTarget(study.target, context));
  if (reached === undefined) return;
  await using place = reached;
  if (ssh !== undefined) {
    found.push({ name: 'machine', state: 'passed', found: `${ssh} answers and its key is known` });
  }
  const prepared = await attempt('server', found, async () =>
    prepareSweep(study, place.host, place.unit),
  );
  if (prepared !== undefined) {
    const version = prepared.production.version ?? 'of unknown version';
    const trials = String(prepared.plan.trials.length);
    found.push({ name: 'server', state: 'passed', found: `SGLang ${version}; ${trials} trials` });
  }
  const { unit } = place;
  if (unit !== undefined) await examineUnit(study, unit, prepared, found);
  if (prepared !== undefined) await examineMachine(prepared, place, database, found);
}

async function examineUnit(
  study: Study,
  unit: NonNullable<Place['unit']>,
  prepared: PreparedSweep | undefined,
  found: PreflightCheck[],
): Promise<void> {
  await attempt('lock', found, async () => {
    const owner = await lockOwner(unit);
    if (owner === undefined) return;
    throw new UserError(`${owner.who} holds ${unit.unit} for study ${owner.study}`, {
      hint: 'If that sweep is gone, run "nightsweep restore".',
    });
  });
  const systemd = prepared?.production.systemd;
  if (systemd !== undefined) {
    await attempt('command', found, async () => {
      requireRunsAsWritten(systemd, unit.unit);
      return Promise.resolve();
    });
  }
  const checks = await attempt('unit', found, async () =>
    preflightSystemd(unit, { leaseSeconds: leaseOf(study) }),
  );
  found.push(...(checks ?? []));
}

async function examineMachine(
  prepared: PreparedSweep,
  place: Place,
  database: string,
  found: PreflightCheck[],
): Promise<void> {
  const { unit } = place;
  const ready = await attempt('resources', found, async () => {
    const serving =
      unit === undefined
        ? undefined
        : {
            pids: new Set(await processesOf(unit, (await showUnit(unit)).invocationId)),
            hasGivenWay: () => false,
          };
    await preflight({
      ...preflightOptions(prepared, place, {
        databasePath: database,
        folder: join(dirname(database), prepared.study.name),
        allowGpuProcesses: false,
        takeOver: false,
      }),
      ...(serving === undefined ? {} : { serving }),
      clock: systemClock,
    });
    return true;
  });
  if (ready !== true) return;
  found.push({
    name: 'resources',
    state: 'passed',
    found: 'open files, disk space, port and GPUs suffice',
  });
}

/** What `check` returns; its UserError becomes a failed check, and undefined is returned. */
async function attempt<T>(
  name: string,
  found: PreflightCheck[],
  check: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    found.push({
      name,
      state: 'failed',
      found: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
    return undefined;
  }
}

function checkText({ name, state, found, hint }: PreflightCheck): string {
  const mark = { passed: 'ok  ', warning: 'warn', failed: 'FAIL' }[state];
  return `${mark}  ${name}: ${found}${hint === undefined ? '' : `\n      ${hint}`}`;
}
