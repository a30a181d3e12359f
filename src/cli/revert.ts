import { systemClock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { requirePassed } from '../server/preflight-check.ts';
import { mustSystemctl, type SystemdAccess, systemctl } from '../server/systemd-access.ts';
import { holdUnit } from '../server/systemd-hold.ts';
import {
  permanentFolder,
  recommendationsIn,
  takeBack,
  takeBackCommands,
} from '../server/systemd-install.ts';
import { preflightSystemd } from '../server/systemd-preflight.ts';
import { forgetHold } from '../server/systemd-restore.ts';
import { readSystemdService } from '../server/systemd-service.ts';
import { showUnit } from '../server/systemd-unit-state.ts';
import { createProbe } from '../study/measurer.ts';
import { proveServing } from '../study/prove-serving.ts';
import { requireUnitPlace } from './apply.ts';
import type { CliContext } from './context.ts';
import { reachTarget } from './reach-target.ts';
import { namedKey } from './server-access.ts';
import { baseUrlOf, flagValue } from './study-template.ts';
import { leaseOf, requireRunsAsWritten, roadTo, type UnitPlace } from './unit-machine.ts';

/**
 * Takes the last recommendation of a unit back: its drop-in out of force, one restart, and a proof
 * that the unit runs what is left and serves. When that does not serve the drop-in goes back.
 *
 * @throws UserError when there is none, or when what it covered does not serve any more.
 */
export async function revertRecommendation(
  study: Study,
  { takeOver }: { readonly takeOver: boolean },
  context: CliContext,
): Promise<void> {
  const signal = context.takeSignals();
  await using reached = await reachTarget(study.target, context);
  const place = requireUnitPlace(reached, study);
  const { unit } = place;
  const path = recommendationsIn(await showUnit(unit)).at(-1);
  if (path === undefined) {
    const folder = await permanentFolder(unit);
    throw new UserError(`${unit.unit} has no recommendation in force`, {
      hint: `Looked for zz-nightsweep.conf and the like in ${folder}`,
    });
  }
  const systemd = await readSystemdService(unit);
  const leaseSeconds = leaseOf(study);
  requirePassed(
    await preflightSystemd(unit, { leaseSeconds, moreCommands: takeBackCommands(path) }),
  );
  const held = await holdUnit(unit, {
    study: study.name,
    production: { environment: systemd.environment },
    leaseSeconds,
    clock: systemClock,
    takeOver,
  });
  try {
    const taken = await takeBack(unit, path);
    try {
      await restartAndProve(place, study, signal, context);
    } catch (error) {
      context.stderr(`${unit.unit} does not serve without it: putting it back`);
      await taken.undo();
      await restartAndProve(place, study, new AbortController().signal, context);
      throw error;
    }
    context.stdout(`${path} is out of force; its text is kept as ${taken.keptAs}\n`);
    context.stdout(`${unit.unit} runs what its other files say, and serves\n`);
  } finally {
    await held.lease.release();
    await forgetHold(unit);
  }
}

async function restartAndProve(
  place: UnitPlace,
  study: Study,
  signal: AbortSignal,
  context: CliContext,
): Promise<void> {
  const { unit, ssh } = place;
  const before = await showUnit(unit);
  await systemctl(unit, 'reset-failed', unit.unit);
  await mustSystemctl(unit, 'restart', '--no-block', unit.unit);
  await waitForStart(unit, before.invocationId, study, signal);
  const systemd = await readSystemdService(unit);
  requireRunsAsWritten(systemd, unit.unit);
  const { argv } = systemd.service;
  await using road = await roadTo(baseUrlOf(argv), ssh);
  const apiKey = namedKey(study, context.environment) ?? flagValue(argv, 'api-key');
  const server = { baseUrl: road.baseUrl, ...(apiKey === undefined ? {} : { apiKey }) };
  context.stderr('waiting until it answers a completion ...');
  const probe = createProbe(server, study.workload);
  await proveServing(probe, study.start.totalSeconds, systemClock, signal);
}

const POLL_MS = 300;
/** Between fork and exec a process shows systemd's own command line. */
const EXEC_MS = 1000;

async function waitForStart(
  unit: SystemdAccess,
  invocationBefore: string,
  { start }: Study,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = systemClock.nowMs() + (start.stopSeconds + start.totalSeconds) * 1000;
  for (;;) {
    const { invocationId, mainPid, result, hasJob } = await showUnit(unit);
    if (invocationId !== invocationBefore && mainPid !== 0) break;
    const failed = invocationId !== invocationBefore && !hasJob && result !== 'success';
    if (failed || systemClock.nowMs() >= deadlineMs) {
      throw new UserError(`${unit.unit} does not start: ${result}`, {
        hint: `Look there with: systemctl status ${unit.unit}`,
      });
    }
    await systemClock.sleep(POLL_MS, signal);
  }
  await systemClock.sleep(EXEC_MS, signal);
}
