import { chmod, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import type { RankedTrial } from '../ranking/ranking.ts';
import type { ScoreKind } from '../ranking/score.ts';
import { requirePassed } from '../server/preflight-check.ts';
import { type HeldUnit, holdUnit } from '../server/systemd-hold.ts';
import { installCommands } from '../server/systemd-install.ts';
import { preflightSystemd } from '../server/systemd-preflight.ts';
import type { UnitFile } from '../server/systemd-unit-state.ts';
import type { EffectiveConfiguration } from '../sglang/effective-configuration.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { type Installation, planInstallation } from '../study/installation.ts';
import { createMeasurer, createProbe, sweepSalt } from '../study/measurer.ts';
import { storedOutputs } from '../study/output-check.ts';
import { proveServing } from '../study/prove-serving.ts';
import { type TryOutcome, tryRecommendation } from '../study/try-recommendation.ts';
import type { CliContext } from './context.ts';
import { reachTarget } from './reach-target.ts';
import { serverAccess } from './server-access.ts';
import {
  enterStart,
  giveBackUnit,
  inPhases,
  JOURNAL_META,
  leaseOf,
  requireRunsAsWritten,
  roadTo,
  type UnitPlace,
} from './unit-machine.ts';

export interface ApplyRequest {
  readonly study: Study;
  readonly store: StudyStore;
  readonly stored: StoredStudy;
  readonly trial: RankedTrial;
  readonly scoreKind: ScoreKind;
  readonly database: string;
  /** Folder for a copy of production's files; beside the database when absent. */
  readonly folder: string | undefined;
  readonly takeOver: boolean;
}

/**
 * Puts a recommendation into production, and takes it back by itself when it is not good.
 *
 * One restart. The drop-in is first in force from /run, with the restore timer armed: whatever
 * dies before it is proven, production comes back, by a reboot too. Once the process is proven to
 * run it, serves, and is measured to be no worse than the baseline, the same text goes to /etc
 * while the process runs on.
 *
 * @throws UserError when nothing was changed, or when it was taken back, with the reason.
 */
export async function applyRecommendation(
  request: ApplyRequest,
  context: CliContext,
): Promise<void> {
  const { study } = request;
  const signal = context.takeSignals();
  await using reached = await reachTarget(study.target, context);
  const place = requireUnitPlace(reached, study);
  const plan = await planInstallation(request, place.host, place.unit);
  if (plan.state === 'in-force') {
    context.stdout(`trial ${String(request.trial.trial)} is in force already: ${plan.path}\n`);
    return;
  }
  requireRunsAsWritten(plan.production.systemd, place.unit.unit);
  const checks = await preflightSystemd(place.unit, {
    leaseSeconds: leaseOf(study),
    moreCommands: installCommands(plan.dropIn),
  });
  requirePassed(checks);
  const backup = await keepCopy(request, plan.production.systemd.files);
  const outcome = await install(plan, place, request, context, signal);
  context.stdout(
    [
      `trial ${String(request.trial.trial)} is in force: ${plan.dropIn.path}`,
      `  ${percent(outcome.comparison.changeFraction)} against the baseline of the study (one launch; noise ${percent(outcome.comparison.noiseFraction)})`,
      `  production's files as they were: ${backup}`,
      `undo: nightsweep recommend --revert ${study.path}`,
      '',
    ].join('\n'),
  );
}

type Planned = Extract<Installation, { state: 'new' }>;

/** Holds the unit, tries the drop-in, and makes it permanent or gives production back. */
async function install(
  plan: Planned,
  place: UnitPlace,
  request: ApplyRequest,
  context: CliContext,
  signal: AbortSignal,
): Promise<Extract<TryOutcome, { state: 'good' }>> {
  const { study, store, stored } = request;
  const { systemd } = plan.production;
  const access = serverAccess(study, plan.production, context);
  await using road = await roadTo(study.target.baseUrl, place.ssh);
  const server = { ...access, baseUrl: road.baseUrl };
  const probe = createProbe(server, study.workload);
  const held = await holdUnit(place.unit, {
    study: study.name,
    production: {
      environment: systemd.environment,
      prefix: systemd.service.command.prefix,
      unset: systemd.service.unset,
    },
    leaseSeconds: leaseOf(study),
    clock: systemClock,
    takeOver: request.takeOver,
    stopLimits: { stopSeconds: study.start.stopSeconds, killSeconds: 60 },
    keepJournal: (journal) => {
      store.setStudyMeta(stored.id, JOURNAL_META, journal);
    },
  });
  try {
    const outcome = await attempt(plan, held, server, request, context, signal);
    if (outcome.state === 'bad') throw new TakenBackError(outcome.reason, study.name);
    // From here on an interrupt would only leave open what is proven already.
    const warning = await held.keep(plan.dropIn);
    if (warning !== undefined) context.stderr(`warning: ${warning}`);
    return outcome;
  } catch (error) {
    context.stderr('taking it back ...');
    const prove = async () =>
      proveServing(
        probe,
        study.start.totalSeconds,
        systemClock,
        signal.aborted ? undefined : signal,
      );
    const steps = await giveBackUnit(held, prove).catch((problem: unknown) => {
      context.stderr(`the recommendation: ${error instanceof Error ? error.message : 'failed'}`);
      throw problem;
    });
    context.stderr(`production is back and serves: ${steps.join(', ')}`);
    throw error;
  }
}

/** The recommendation was in force and is not any more; production is as it was. */
class TakenBackError extends UserError {
  constructor(reason: string, study: string) {
    super(`the recommendation was taken back: ${reason}`, {
      hint: `Production is as it was. Look at "nightsweep rank --study ${study}", and sweep again if the machine has changed.`,
    });
  }
}

async function attempt(
  plan: Planned,
  held: HeldUnit,
  server: { readonly baseUrl: string; readonly apiKey?: string | undefined },
  { study, store, stored, trial, scoreKind, database }: ApplyRequest,
  context: CliContext,
  signal: AbortSignal,
): Promise<TryOutcome> {
  signal.throwIfAborted();
  enterStart(held, study);
  const logPath = join(dirname(database), study.name, 'logs', 'apply.log');
  const launched = await held.target.startFrom(
    { dropIn: plan.text, environment: '' },
    { ...plan.launch, baseUrl: study.target.baseUrl, logPath },
  );
  context.stderr(
    `restarted with trial ${String(trial.trial)}: its command and variables are proven`,
  );
  try {
    return await tryRecommendation(
      launched,
      trial.assignment,
      {
        study,
        probe: createProbe(server, study.workload),
        measurer: inPhases(
          createMeasurer(server, study, systemClock, {
            salt: sweepSalt(study, stored),
            baselineOutputs: storedOutputs(store.measurements(stored.id)),
          }),
          held,
          study,
        ),
        clock: systemClock,
        scoreKind,
        trials: store.trialData(stored.id),
        measuredAs: effectiveValues(store, stored, trial),
        tell: context.stderr,
      },
      signal,
    );
  } finally {
    await launched.detach();
  }
}

/** What the last launch of this trial said it runs. */
function effectiveValues(
  store: StudyStore,
  stored: StoredStudy,
  { trial }: RankedTrial,
): EffectiveConfiguration['values'] | undefined {
  const { id } = store.trials(stored.id).find(({ number }) => number === trial) ?? {};
  const launch = store
    .launches(stored.id)
    .findLast(({ trialId, effective }) => trialId === id && effective !== null);
  return launch?.effective?.['values'] as EffectiveConfiguration['values'] | undefined;
}

/** Copies of the unit's files, readable by their owner only, as they may hold keys. */
async function keepCopy(
  { database, folder, study }: ApplyRequest,
  files: readonly UnitFile[],
): Promise<string> {
  const moment = new Date(systemClock.wallMs()).toISOString().replaceAll(/[:.]/g, '-');
  const place = join(folder ?? join(dirname(database), study.name), `production-${moment}`);
  try {
    makeFolder(place);
    await chmod(place, 0o700);
    for (const { path, text } of files) {
      await writeFile(join(place, basename(path)), text, { mode: 0o600 });
    }
  } catch (error) {
    throw new UserError(`production's files cannot be copied to ${place}`, { cause: error });
  }
  return place;
}

/** @throws UserError for a study whose target is no unit. */
export function requireUnitPlace(
  place: Awaited<ReturnType<typeof reachTarget>>,
  { path, target }: Study,
): UnitPlace {
  const { unit } = place;
  if (unit === undefined) {
    throw new UserError(`${path}: target.unit is missing: only a systemd unit can be changed`, {
      hint:
        target.command === undefined
          ? 'Install the drop-in by hand, or name the unit as target.unit and sweep it there.'
          : 'Start the server by launch-command.txt, which "recommend --out" writes.',
    });
  }
  return { ...place, unit };
}

function percent(fraction: number): string {
  return `${fraction > 0 ? '+' : ''}${(100 * fraction).toFixed(1)} %`;
}
