import { dirname, join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { systemClock } from '../clock.ts';
import { loadStudy } from '../config/load-study.ts';
import type { Study } from '../config/study.ts';
import { EXIT, UserError } from '../errors.ts';
import type { ServerAccess } from '../load/server-probe.ts';
import { COULD_NOT_WIN } from '../ranking/race.ts';
import { acquireLock, databaseLockPath } from '../server/lock.ts';
import { mendUnit } from '../server/systemd-hold.ts';
import { launchCommand } from '../service-file/launch-command.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { checkBaseline } from '../study/baseline-guard.ts';
import { createBudget } from '../study/budget.ts';
import { experienceOf, launchDurations, launchesDone } from '../study/experience.ts';
import { identityOf, openStudy } from '../study/identity.ts';
import { createLaunchBuilder } from '../study/launch-builder.ts';
import { forgetLessons } from '../study/lessons.ts';
import { createMeasurer, createProbe, sweepSalt } from '../study/measurer.ts';
import { storedOutputs } from '../study/output-check.ts';
import { type PreparedSweep, prepareSweep, storePlan } from '../study/prepare.ts';
import { proveServing } from '../study/prove-serving.ts';
import { UNIT_PATH_META } from '../study/recommendation.ts';
import { runStudy, type SweepEnd } from '../study/run-study.ts';
import { storeUnit } from '../study/stored-unit.ts';
import { storeSweepProcess } from '../study/sweep-process.ts';
import { Interrupted } from './boundary.ts';
import { conclude, notifyOfError } from './conclude.ts';
import type { CliContext } from './context.ts';
import { detachSweep, LOG_VARIABLE } from './detach.ts';
import { givingBack } from './giving-back.ts';
import { openLiveView } from './live-view.ts';
import type { HeldMachine } from './machine.ts';
import { openDatabase } from './open-database.ts';
import { openMachine } from './open-machine.ts';
import { DEFAULT_DATABASE } from './options.ts';
import { planFacts } from './plan.ts';
import { reachTarget } from './reach-target.ts';
import { serverAccess } from './server-access.ts';

interface SweepOptions {
  readonly db: string;
  readonly out?: string | undefined;
  readonly retry?: true | undefined;
  readonly allowGpuProcesses?: true | undefined;
  readonly takeOver?: true | undefined;
  readonly detach?: true | undefined;
}

/** `sweep`: runs a study, or goes on with it. */
export function sweepCommand(context: CliContext) {
  return new Command('sweep')
    .summary('measure every combination of a study file and recommend one')
    .description(
      'Restarts the server for each combination of a study file, measures it at each concurrency,\nranks, and writes the recommended service file. The same command goes on with an interrupted sweep.',
    )
    .argument('<study>', 'study file')
    .option('--db <file>', 'database', DEFAULT_DATABASE)
    .option(
      '--out <folder>',
      'folder for logs and the recommendation (default: beside the database)',
    )
    .option('--retry', 'try trials again that failed or could not be started')
    .option('--allow-gpu-processes', 'measure although other processes use the GPUs')
    .option('--take-over', 'take a systemd unit from a sweep of which nothing is heard any more')
    .option('--detach', 'go on when this terminal is closed; "status --follow" shows it')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep sweep search-spaces/demo.yaml\n  nightsweep sweep study.yaml --db night.sqlite --detach',
    )
    .action(async (path, options) => {
      const study = await loadStudy(path);
      if (options.detach === true) {
        const words = [path, ...optionWords(options)];
        const where = { database: options.db, folder: folderOf(study, options) };
        const code = await detachSweep(study, words, where, context);
        context.setExitCode(code ?? EXIT.done);
        return;
      }
      try {
        await sweep(study, options, context);
      } catch (error) {
        await notifyOfError(study, error, context);
        throw error;
      }
    });
}

async function sweep(study: Study, options: SweepOptions, context: CliContext): Promise<void> {
  const clock = systemClock;
  const signal = context.takeSignals();
  const { path } = study;
  await using place = await reachTarget(study.target, context);
  const takeOver = options.takeOver ?? false;
  const mended =
    place.unit === undefined
      ? []
      : await mendUnit(place.unit, { study: study.name, clock, takeOver });
  for (const step of mended) context.stderr(`left by an interrupted sweep: ${step}`);
  const prepared = await prepareSweep(study, place.host, place.unit);
  if (prepared.plan.unlisted > 0 && Object.keys(study.budget).length === 0) {
    throw new UserError(
      `${path}: the space has ${String(prepared.plan.space.feasible)} combinations, too many for one sweep`,
      { hint: 'set a budget (hours, until or launches), or fewer values' },
    );
  }
  const folder = folderOf(study, options);
  const access = serverAccess(study, prepared.production, context);
  await using opened = await openMachine(prepared, place, {
    databasePath: options.db,
    folder,
    allowGpuProcesses: options.allowGpuProcesses ?? false,
    takeOver,
    tell: context.stderr,
  });
  using store = await openDatabase(options.db);
  await using databaseLock = await acquireLock({
    path: databaseLockPath(options.db),
    what: `the database ${options.db}`,
    clock,
  });
  const stored = openStudy(store, identityOf(study, prepared.production), clock.wallMs());
  storeSweepProcess(store, stored.id, context.environment[LOG_VARIABLE] ?? null);
  if (study.target.unitFile !== undefined) {
    store.setStudyMeta(stored.id, UNIT_PATH_META, resolve(study.target.unitFile));
  }
  const { systemd } = prepared.production;
  if (systemd !== undefined) {
    store.setStudyMeta(stored.id, UNIT_PATH_META, systemd.files[0]?.path);
    storeUnit(store, stored.id, systemd);
  }
  const notes = [...opened.notices, databaseLock.takenOver, ...store.notices];
  for (const note of notes) if (note !== undefined) context.stderr(note);
  if (options.retry === true) retryFailures(store, stored);

  const machine = await opened.take(store, stored);
  for (const note of machine.notices) context.stderr(note);
  const server = { ...access, baseUrl: machine.baseUrl };
  const prove = async () => {
    // After an interrupt production still has to come back; only another signal ends the wait.
    const unlessAborted = signal.aborted ? undefined : signal;
    const { totalSeconds } = study.start;
    await proveServing(createProbe(server, study.workload), totalSeconds, clock, unlessAborted);
  };
  const run = runPrepared(prepared, machine, server, stored, store, folder, context, signal);
  const end = await givingBack(run, machine, prove, context).catch((error: unknown) => {
    if (error instanceof Interrupted) {
      context.stderr(
        `the server is stopped; go on with: ${launchCommand(['nightsweep', 'sweep', path, ...optionWords({ ...options, retry: undefined, takeOver: undefined })])}`,
      );
    }
    throw error;
  });
  const conclusion = { study, stored, store, end, folder, database: options.db, unit: systemd };
  await conclude(conclusion, context);
}

/** Where logs and the recommendation go. */
function folderOf({ name }: Study, { db, out }: SweepOptions): string {
  return out ?? join(dirname(db), name);
}

function optionWords(options: SweepOptions): readonly string[] {
  const { db, out, retry, allowGpuProcesses, takeOver } = options;
  return [
    ...['--db', db],
    ...(out === undefined ? [] : ['--out', out]),
    ...(retry === undefined ? [] : ['--retry']),
    ...(allowGpuProcesses === undefined ? [] : ['--allow-gpu-processes']),
    ...(takeOver === undefined ? [] : ['--take-over']),
  ];
}

async function runPrepared(
  prepared: PreparedSweep,
  { target, ended, environmentProblem, measuring, takePoint }: HeldMachine,
  access: ServerAccess,
  stored: StoredStudy,
  store: StudyStore,
  folder: string,
  context: CliContext,
  signal: AbortSignal,
): Promise<SweepEnd> {
  const clock = systemClock;
  const { study, plan } = prepared;
  const interrupted = store.interruptOpenLaunches(stored.id);
  const trials = storePlan(store, stored.id, plan);
  const facts = planFacts(prepared, experienceOf(store, study.name));
  for (const warning of facts.warnings) context.stderr(`warning: ${warning}`);

  const salt = sweepSalt(study, stored);
  const { expect } = study.baseline;
  const guard =
    expect === undefined
      ? undefined
      : measuring(
          createMeasurer(access, study, clock, {
            workload: expect.workload,
            salt: `${salt}/expect`,
            takePoint,
          }),
        );
  await using view = openLiveView(context, study.profile);
  view.emit({ type: 'cleaned-up', ended });
  const kept = store.measurements(stored.id);
  const done = launchesDone(kept, study.profile.size * study.measure.repeats);
  view.emit({
    type: 'planned',
    baseline: plan.trials[0]?.assignment ?? {},
    trials: trials.length,
    launches: Math.max(0, facts.estimate.launches - done),
    kept: kept.length,
  });
  if (interrupted > 0)
    view.emit({
      type: 'notice',
      text: 'an earlier sweep of this study was interrupted: its last measurement is taken again',
    });
  return await runStudy(
    {
      study,
      stored,
      store,
      trials,
      target,
      clock,
      start: study.start,
      probe: createProbe(access, study.workload),
      measurer: measuring(
        createMeasurer(access, study, clock, {
          salt,
          baselineOutputs: storedOutputs(store.measurements(stored.id)),
          takePoint,
        }),
      ),
      builder: createLaunchBuilder(
        prepared,
        join(folder, 'logs'),
        store.launches(stored.id).length,
      ),
      budget: createBudget(study.budget, clock, launchDurations(store.launches(stored.id))),
      emit: view.emit,
      environmentProblem,
      ...(guard === undefined || expect === undefined
        ? {}
        : {
            checkBaseline: (serverFacts, guardSignal) =>
              checkBaseline(expect, guard, serverFacts, guardSignal),
          }),
    },
    signal,
  );
}

/** Failed trials become planned again; what they measured stays. */
function retryFailures(store: StudyStore, stored: StoredStudy): void {
  for (const trial of store.trials(stored.id)) {
    // A trial that could not win did not fail.
    if (trial.cause === COULD_NOT_WIN) continue;
    if (['failed', 'infeasible', 'partial'].includes(trial.state)) {
      store.setTrialState(trial.id, 'planned', null, null);
    }
  }
  forgetLessons(store, stored.id);
}
