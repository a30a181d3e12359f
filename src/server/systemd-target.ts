import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { secretValues } from '../sglang/redact.ts';
import { CappedLog, DEFAULT_LOG_CAP } from './capped-log.ts';
import { LogTail } from './log-tail.ts';
import { mustSystemctl, type SystemdAccess, systemctl } from './systemd-access.ts';
import {
  environmentChange,
  type ProductionCommand,
  type TrialFiles,
  trialFiles,
} from './systemd-drop-in.ts';
import { editedSince, requireUnedited, type SystemdJournal } from './systemd-journal.ts';
import { type LockOwner, lockOwner, requireLock } from './systemd-lock.ts';
import { openLog } from './systemd-log.ts';
import { proveProcess } from './systemd-proof.ts';
import { restoreProduction } from './systemd-restore.ts';
import { SystemdServer } from './systemd-server.ts';
import { DEFAULT_STOP_LIMITS, type SystemdStopLimits } from './systemd-stop.ts';
import { showUnit, type UnitState } from './systemd-unit-state.ts';
import type { LaunchRequest, Target } from './target.ts';

export interface SystemdTargetOptions {
  readonly access: SystemdAccess;
  readonly production: ProductionCommand;
  /** As written before the first change: a unit that was edited since is left alone. */
  readonly journal: SystemdJournal;
  readonly owner: LockOwner;
  readonly clock: Clock;
  readonly stopLimits?: SystemdStopLimits;
}

const START_SECONDS = 180;
const POLL_MS = 200;

/** The systemd unit of production as the place where trials run. */
export class SystemdTarget implements Target {
  readonly #options: SystemdTargetOptions;

  constructor(options: SystemdTargetOptions) {
    this.#options = options;
  }

  async start(request: LaunchRequest): Promise<SystemdServer> {
    const { access, production } = this.#options;
    return this.startFrom(trialFiles(access, request, production), request);
  }

  /** As `start`, with these texts instead of a trial's own; `request` says what must run then. */
  async startFrom(files: TrialFiles, request: LaunchRequest): Promise<SystemdServer> {
    const { access, clock } = this.#options;
    await makeLogFolder(request.logPath);
    await this.#requireOurs();
    const before = await showUnit(access);
    const log = await openLog(access, before);
    await access.root.writeText(access.paths.environment, files.environment, { mode: 0o600 });
    // The words may hold expanded secrets of environment files.
    await access.root.writeText(access.paths.dropIn, files.dropIn, { mode: 0o600 });
    await mustSystemctl(access, 'daemon-reload');
    // Each start counts towards the unit's start limit, like a crash.
    await systemctl(access, 'reset-failed', access.unit);
    const startedAtMs = clock.nowMs();
    await mustSystemctl(access, 'restart', '--no-block', access.unit);
    const started = await this.#waitForStart(before);
    await this.#proveCommand(started, request);
    const secrets = secretValues(request.argv, request.environment);
    return new SystemdServer(
      {
        pid: started.lastMainPid,
        invocationId: started.invocationId,
        port: portOf(request.baseUrl),
        startedAtMs,
      },
      {
        access,
        clock,
        reader: log(started.invocationId),
        log: await CappedLog.open(request.logPath, DEFAULT_LOG_CAP, secrets),
        tail: new LogTail(secrets),
        limits: this.#options.stopLimits ?? DEFAULT_STOP_LIMITS,
        isOurs: async () => (await lockOwner(access))?.id === this.#options.owner.id,
      },
    );
  }

  async cleanUp(): Promise<readonly string[]> {
    const { access, journal } = this.#options;
    const state = await showUnit(access);
    const ours = state.dropInPaths.includes(access.paths.dropIn);
    const left = await access.root.readText(access.paths.dropIn);
    if (!ours && left === undefined) return [];
    const { steps } = await restoreProduction(access, {
      journal,
      clock: this.#options.clock,
      keep: 'everything',
    });
    return steps;
  }

  /** A start changes the unit, so both must hold at that moment: our lock, and nobody's edits. */
  async #requireOurs(): Promise<void> {
    const { access, journal, owner } = this.#options;
    await requireLock(access, owner);
    requireUnedited(access, await editedSince(access, journal, await showUnit(access)));
  }

  async #waitForStart(before: UnitState): Promise<UnitState> {
    const { access, clock } = this.#options;
    const deadlineMs = clock.nowMs() + START_SECONDS * 1000;
    for (;;) {
      const state = await showUnit(access);
      const isNew = state.invocationId !== '' && state.invocationId !== before.invocationId;
      // Type=notify stays "activating" for the whole model load; the process is what counts.
      if (isNew && (state.mainPid !== 0 || !state.hasJob)) return state;
      if (!state.hasJob && state.result === 'start-limit-hit') {
        throw new UserError(`systemd refuses to start ${access.unit}: its start limit was hit`);
      }
      if (clock.nowMs() >= deadlineMs) {
        throw new UserError(
          `${access.unit} did not start within ${START_SECONDS} s (${state.activeState}, ${state.result})`,
        );
      }
      await clock.sleep(POLL_MS);
    }
  }

  async #proveCommand(state: UnitState, { argv, environment }: LaunchRequest): Promise<void> {
    const { access, production, clock } = this.#options;
    // It ended at once: the exit tells more than a missing proof.
    if (state.mainPid === 0) return;
    const change = environmentChange(production.environment, environment);
    const problem = await proveProcess(access, state.mainPid, argv, change, clock);
    if (problem === undefined || problem === 'gone') return;
    await systemctl(access, 'stop', access.unit);
    throw new UserError(`${access.unit} was started, but ${problem}`, {
      hint: `Look for what overrides it: systemctl cat ${access.unit}`,
    });
  }
}

/** Before anything changes there: without it the launch could not be followed. */
async function makeLogFolder(logPath: string): Promise<void> {
  try {
    await mkdir(dirname(logPath), { recursive: true });
  } catch (error) {
    throw new UserError(`cannot make the folder ${dirname(logPath)} for logs`, { cause: error });
  }
}

function portOf(baseUrl: string): number | undefined {
  const port = Number(new URL(baseUrl).port);
  return port > 0 ? port : undefined;
}
