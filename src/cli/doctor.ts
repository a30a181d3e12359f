import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { loadStudy } from '../config/load-study.ts';
import type { Study } from '../config/study.ts';
import { EXIT, UserError } from '../errors.ts';
import { acquireLock, databaseLockPath } from '../server/lock.ts';
import type { PreflightCheck } from '../server/preflight-check.ts';
import { isActive } from '../server/systemd-journal.ts';
import { lockOwner } from '../server/systemd-lock.ts';
import { preflightSystemd } from '../server/systemd-preflight.ts';
import { processesOf } from '../server/systemd-stop.ts';
import { showUnit } from '../server/systemd-unit-state.ts';
import { createProbe } from '../study/measurer.ts';
import { isSimulated, machineChecks } from '../study/preflight.ts';
import { type PreparedSweep, prepareSweep } from '../study/prepare.ts';
import { plannedChunkRate, proveLoad } from '../study/prove-load.ts';
import type { CliContext } from './context.ts';
import { preflightOptions } from './machine.ts';
import { openDatabase } from './open-database.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { type Place, reachTarget } from './reach-target.ts';
import { namedKey, serverAccess } from './server-access.ts';
import { leaseOf, requireRunsAsWritten, roadTo, type UnitPlace } from './unit-machine.ts';

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
  await check('API key', found, async () => {
    const named = namedKey(study, context.environment);
    return Promise.resolve(named === undefined ? 'none is named' : 'its variable is set');
  });
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
  await check('database', found, async () => openForWriting(database));
  const { unit } = place;
  if (unit !== undefined) await examineUnit(study, unit, prepared, found);
  if (prepared === undefined) return;
  await examineMachine(prepared, place, database, found);
  if (!isSimulated(prepared.production)) {
    await check('load generator', found, async () => {
      const { streams, chunksPerSecond } = plannedChunkRate(study);
      const planned = `${String(streams)} streams of ${chunksPerSecond.toFixed(0)} chunks/s`;
      return (await proveLoad(study, systemClock)) ?? `it takes ${planned} here`;
    });
  }
  if (unit !== undefined) await examineServing(prepared, { ...place, unit }, found, context);
}

/** Whether a sweep could write there; a database that is not there yet stays so. */
async function openForWriting(database: string): Promise<string> {
  if (!existsSync(database)) return `${database} will be made`;
  using store = await openDatabase(database);
  await using lock = await acquireLock({
    path: databaseLockPath(database),
    what: `the database ${database}`,
    clock: systemClock,
  });
  const studies = String(store.studies().length);
  return `${database} can be written and holds ${studies} studies${lock.takenOver === undefined ? '' : '; its last sweep was killed'}`;
}

async function examineUnit(
  study: Study,
  unit: NonNullable<Place['unit']>,
  prepared: PreparedSweep | undefined,
  found: PreflightCheck[],
): Promise<void> {
  await check('lock', found, async () => {
    const owner = await lockOwner(unit);
    if (owner === undefined) return 'nobody else sweeps this unit';
    const minutes = Math.max(0, Math.round((systemClock.wallMs() - owner.sinceMs) / 60_000));
    throw new UserError(
      `${owner.who}, process ${String(owner.pid)}, holds ${unit.unit} for study ${owner.study}, for ${String(minutes)} min`,
      { hint: 'If that sweep is gone, run "nightsweep restore".' },
    );
  });
  const systemd = prepared?.production.systemd;
  if (systemd !== undefined) {
    await check('command', found, async () => {
      requireRunsAsWritten(systemd, unit.unit);
      return Promise.resolve(`${unit.unit} runs what its files say`);
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
  const pids = await attempt('processes', found, async () =>
    unit === undefined
      ? new Set<number>()
      : new Set(await processesOf(unit, (await showUnit(unit)).invocationId)),
  );
  if (pids === undefined) return;
  const options = {
    ...preflightOptions(prepared, place, {
      databasePath: database,
      folder: join(dirname(database), prepared.study.name),
      allowGpuProcesses: false,
      takeOver: false,
      tell: () => undefined,
    }),
    ...(unit === undefined ? {} : { serving: { pids, hasGivenWay: () => false } }),
  };
  for (const { name, check: run } of machineChecks(options)) await check(name, found, run);
}

/** Whether production answers where the study says, with the study's key: one short completion. */
async function examineServing(
  { study, production }: PreparedSweep,
  { unit, ssh }: UnitPlace,
  found: PreflightCheck[],
  context: CliContext,
): Promise<void> {
  if (!isActive(await showUnit(unit))) return;
  await check('completion', found, async () => {
    const access = serverAccess(study, production, context);
    await using road = await roadTo(access.baseUrl, ssh);
    try {
      const probe = createProbe({ ...access, baseUrl: road.baseUrl }, study.workload);
      await probe.complete(AbortSignal.timeout(COMPLETION_MS));
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(`production does not answer at ${access.baseUrl}`, {
        hint: 'Is target.base_url the address on which the server listens, seen from its own machine?',
        cause: error,
      });
    }
    return `production answers at ${access.baseUrl}`;
  });
}

/** A production under load answers late. */
const COMPLETION_MS = 60_000;

/** Runs a check and writes down what it found, or the UserError that it threw. */
async function check(
  name: string,
  found: PreflightCheck[],
  run: () => Promise<string>,
): Promise<void> {
  const text = await attempt(name, found, run);
  if (text !== undefined) found.push({ name, state: 'passed', found: text });
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

/** A check as it is shown; a failure with what to do. */
function checkText({ name, state, found, hint }: PreflightCheck): string {
  const mark = { passed: 'ok  ', warning: 'warn', failed: 'FAIL' }[state];
  return `${mark}  ${name}: ${found}${hint === undefined ? '' : `\n      ${hint}`}`;
}
