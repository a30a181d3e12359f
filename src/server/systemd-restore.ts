import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { mustSystemctl, removeFiles, type SystemdAccess, systemctl } from './systemd-access.ts';
import {
  commandSha256,
  editedSince,
  isActive,
  readJournal,
  type SystemdJournal,
} from './systemd-journal.ts';
import { disarmGuard } from './systemd-lease.ts';
import { loadFolder, loadUnit } from './systemd-load-unit.ts';
import { lockOwner } from './systemd-lock.ts';
import { showUnit, type UnitState } from './systemd-unit-state.ts';

export interface RestoreOptions {
  /** The caller's copy, for when the target has none any more. */
  readonly journal?: SystemdJournal | undefined;
  readonly clock: Clock;
  /** Proves that production serves (a real completion); throws UserError when it does not. */
  readonly proveServing?: (() => Promise<void>) | undefined;
  /** For a sweep that goes on: what stays of its lock alone, or of lock, timer and journal. */
  readonly keep?: 'lock' | 'everything';
}

/** What a restore did and found. */
export interface RestoreReport {
  /** One line for each thing that was changed; empty when production was as it should be. */
  readonly steps: readonly string[];
  /** What others changed in the unit since the sweep began; in force now, not overwritten. */
  readonly edits: readonly string[];
  /** What is not as before; empty is what "restored" means. */
  readonly problems: readonly string[];
  /** How an earlier restore was done: `lease …`; undefined when there was none. */
  readonly earlier: string | undefined;
}

const RUNNING_SECONDS = 180;
const EXEC_SECONDS = 5;
const POLL_MS = 300;
const COMMAND_LIMIT_MS = 30_000;

/**
 * Brings production back and proves it: our drop-in gone, unit files by hash, enabled and active
 * state as before, the old command running, and a completion where the caller can make one.
 *
 * Works from any machine with access, also after the lease did it, and any number of times. Only
 * files of ours are removed; production's are never written. Timer and lock go last, so that a
 * restore that dies in the middle is finished by the timer.
 */
export async function restoreProduction(
  access: SystemdAccess,
  options: RestoreOptions,
): Promise<RestoreReport> {
  const journal = (await readJournal(access)) ?? options.journal;
  const earlier = (await access.root.readText(access.paths.restored))?.trim();
  const steps: string[] = [];
  await stopLoadGenerator(access, steps);
  const changed = await removeDropIn(access, steps);
  const state = await runAsBefore(access, journal, changed, steps, options.clock);
  await removeFiles(access, access.paths.restoring);
  const edits = journal === undefined ? [] : await editedSince(access, journal, state);
  const problems =
    journal === undefined ? [] : await differences(access, journal, state, edits.length > 0);
  if (problems.length === 0 && journal?.wasActive !== false) {
    await options.proveServing?.().catch((error: unknown) => {
      // An interrupt, or a fault of this program, says nothing about production.
      if (!(error instanceof UserError)) throw error;
      problems.push(`it does not serve: ${reasonOf(error)}`);
    });
  }
  if (problems.length === 0 && options.keep !== 'everything') {
    steps.push(...(await forgetHold(access, { keepLock: options.keep === 'lock' })));
  }
  return { steps, edits, problems, earlier };
}

/** Throws UserError unless the report says that production is as it was. */
export function requireRestored(access: SystemdAccess, { problems, edits }: RestoreReport): void {
  if (problems.length === 0) return;
  const edited = edits.length === 0 ? '' : `; meanwhile ${edits.join('; ')}`;
  throw new UserError(
    `${access.unit} on ${access.host.name} is not as before: ${problems.join('; ')}${edited}`,
    {
      hint: `Look there with: systemctl status ${access.unit}; then run "nightsweep restore" again.`,
    },
  );
}

function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

async function stopLoadGenerator(access: SystemdAccess, steps: string[]): Promise<void> {
  const unit = `${loadUnit(access)}.service`;
  const running = await systemctl(access, 'is-active', '--quiet', unit);
  if (running.exitCode === 0) {
    await systemctl(access, 'stop', unit);
    steps.push('stopped the load generator');
  }
  // Of another user's, who swept before, the timer's script takes care.
  await access.host.run({
    argv: ['rm', '-rf', '--', loadFolder(access)],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
}

/**
 * Whether a trial may be running, so that production must be started anew. A marker says so before
 * the drop-in goes, as a restore may die between the two and the timer's script finish it.
 */
async function removeDropIn(access: SystemdAccess, steps: string[]): Promise<boolean> {
  const { paths } = access;
  const state = await showUnit(access);
  const isThere = (await access.root.readText(paths.dropIn)) !== undefined;
  const isInForce = state.dropInPaths.includes(paths.dropIn);
  if (!isThere && !isInForce) return (await access.host.readText(paths.restoring)) !== undefined;
  await access.root.writeText(paths.restoring, '');
  await removeFiles(access, paths.dropIn, paths.environment);
  await mustSystemctl(access, 'daemon-reload');
  steps.push(`removed ${paths.dropIn}`);
  return true;
}

/** Starts production anew if a trial ran, or starts or stops it so that it is as before. */
async function runAsBefore(
  access: SystemdAccess,
  journal: SystemdJournal | undefined,
  changed: boolean,
  steps: string[],
  clock: Clock,
): Promise<UnitState> {
  let state = await showUnit(access);
  if (journal === undefined && !changed) return state;
  const shouldRun = journal?.wasActive ?? true;
  if (!shouldRun) {
    if (isActive(state)) {
      await mustSystemctl(access, 'stop', access.unit);
      steps.push(`stopped ${access.unit}, which did not run before`);
    }
    return showUnit(access);
  }
  const runsOther =
    journal !== undefined &&
    journal.commandSha256 !== '' &&
    (await commandSha256(access, state)) !== journal.commandSha256 &&
    (await editedSince(access, journal, state)).length === 0;
  if (isActive(state) && !changed && !runsOther) return state;
  await systemctl(access, 'reset-failed', access.unit);
  await mustSystemctl(access, 'restart', '--no-block', access.unit);
  steps.push(`restarted ${access.unit}`);
  const deadlineMs = clock.nowMs() + RUNNING_SECONDS * 1000;
  do {
    await clock.sleep(POLL_MS);
    state = await showUnit(access);
  } while ((state.hasJob || state.mainPid === 0) && clock.nowMs() < deadlineMs);
  await waitForCommand(access, journal?.commandSha256 ?? '', state, clock);
  return state;
}

/** Between fork and exec a process shows systemd's own command line. */
async function waitForCommand(
  access: SystemdAccess,
  hash: string,
  state: UnitState,
  clock: Clock,
): Promise<void> {
  const deadlineMs = clock.nowMs() + EXEC_SECONDS * 1000;
  while (hash !== '' && clock.nowMs() < deadlineMs) {
    if ((await commandSha256(access, state)) === hash) return;
    await clock.sleep(POLL_MS);
  }
}

async function differences(
  access: SystemdAccess,
  journal: SystemdJournal,
  state: UnitState,
  edited: boolean,
): Promise<string[]> {
  const problems: string[] = [];
  if (state.dropInPaths.includes(access.paths.dropIn))
    problems.push('our drop-in is still in force');
  if (state.needsReload) problems.push('its files were changed and systemd has not read them');
  if (state.unitFileState !== journal.unitFileState) {
    problems.push(`it is ${state.unitFileState}, and was ${journal.unitFileState}`);
  }
  if (isActive(state) !== journal.wasActive) {
    problems.push(
      `it is ${state.activeState} (${state.result}), and ${journal.wasActive ? 'ran' : 'did not run'} before`,
    );
  } else if (!edited && journal.commandSha256 !== '' && journal.wasActive) {
    if ((await commandSha256(access, state)) !== journal.commandSha256) {
      problems.push('it runs another command than before');
    }
  }
  return problems;
}

/**
 * Removes timer, lock and journal: what keeps others from the unit, and would restore it again.
 * Returns a line for a lock that was released.
 */
export async function forgetHold(
  access: SystemdAccess,
  { keepLock = false }: { readonly keepLock?: boolean } = {},
): Promise<readonly string[]> {
  await disarmGuard(access);
  await removeFiles(access, access.paths.journal, access.paths.restored);
  const owner = keepLock ? undefined : await lockOwner(access);
  if (owner === undefined) return [];
  await removeFiles(access, access.paths.lock);
  return [`released the lock of ${owner.who}`];
}
