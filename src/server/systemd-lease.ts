import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { removeFiles, type SystemdAccess, systemctl, systemdWords } from './systemd-access.ts';
import { guardScript } from './systemd-guard-script.ts';
import type { SystemdJournal } from './systemd-journal.ts';

export interface LeaseOptions {
  /** How long the target waits for a tuner that says nothing. */
  readonly leaseSeconds: number;
  readonly clock: Clock;
}

/** A tuner's licence to hold production away, which runs out by itself. */
export const DEFAULT_LEASE_SECONDS = 15 * 60;

const COMMAND_LIMIT_MS = 30_000;
const LONGEST_CHECK_SECONDS = 30;

/** Seconds since the machine booted: a clock that nobody sets. */
export async function readUptimeSeconds(host: Host): Promise<number> {
  const text = await host.readText('/proc/uptime');
  const seconds = Number(text?.split(' ')[0]);
  if (!(seconds > 0)) throw new UserError(`${host.name} does not tell its uptime`);
  return seconds;
}

/** Names of the timer and service that watch the lease. */
export function guardUnit({ unit }: Pick<SystemdAccess, 'unit'>): string {
  return `nightsweep-guard-${unit.replace(/\.service$/, '').replaceAll(/[^A-Za-z0-9:_.-]/g, '-')}`;
}

/** The words that arm the timer, exactly as they are run. */
export function armWords(access: SystemdAccess, leaseSeconds: number): string[] {
  const every = checkSeconds(leaseSeconds);
  return systemdWords(
    access,
    'systemd-run',
    '--quiet',
    `--unit=${guardUnit(access)}`,
    `--on-active=${every}s`,
    `--on-unit-inactive=${every}s`,
    '--timer-property=AccuracySec=1s',
    '--description=Restores production when the tuner is gone',
    '/bin/sh',
    access.paths.guard,
  );
}

function checkSeconds(leaseSeconds: number): number {
  return Math.max(1, Math.min(LONGEST_CHECK_SECONDS, Math.floor(leaseSeconds / 3)));
}

/**
 * Arms the timer on the target that restores production when the lease has run out. Must be called
 * before the first change; the first lease runs from now.
 */
export async function armLease(
  access: SystemdAccess,
  journal: SystemdJournal,
  { leaseSeconds, clock }: LeaseOptions,
): Promise<Lease> {
  const lease = new Lease(access, leaseSeconds, clock);
  await armGuard(access, journal, lease);
  return lease;
}

/** Arms the timer for a lease, which runs from now; one that is armed already is replaced. */
export async function armGuard(
  access: SystemdAccess,
  journal: SystemdJournal,
  lease: Lease,
): Promise<void> {
  await disarmGuard(access);
  await access.root.writeText(access.paths.guard, guardScript(access, journal, guardUnit(access)), {
    mode: 0o700,
  });
  await lease.renew();
  const result = await access.root.run({
    argv: armWords(access, lease.leaseSeconds),
    timeoutMs: COMMAND_LIMIT_MS,
  });
  if (result.exitCode !== 0) {
    throw new UserError(
      `cannot arm the restore timer on ${access.host.name}: ${result.stderr.trim()}`,
    );
  }
}

/** Stops and forgets the timer; harmless when there is none. */
export async function disarmGuard(access: SystemdAccess): Promise<void> {
  // A failed guard service keeps its name, and the next one could not have it.
  await systemctl(access, 'stop', `${guardUnit(access)}.timer`);
  await systemctl(access, 'reset-failed', `${guardUnit(access)}.service`);
  await removeFiles(access, access.paths.guard, access.paths.lease);
}

/** A lease that was armed. Renewed by `hold`, at most until the current phase's deadline. */
export class Lease {
  readonly leaseSeconds: number;
  readonly #access: SystemdAccess;
  readonly #clock: Clock;
  #phaseEndMs = Number.POSITIVE_INFINITY;
  #stopHolding: AbortController | undefined;
  #holding: Promise<void> = Promise.resolve();
  #problem: unknown;

  constructor(access: SystemdAccess, leaseSeconds: number, clock: Clock) {
    this.#access = access;
    this.leaseSeconds = leaseSeconds;
    this.#clock = clock;
  }

  /** Why the last renewal failed; undefined when it did not. */
  get problem(): unknown {
    return this.#problem;
  }

  /**
   * A new phase begins that must end within `limitSeconds` (a model load, a measurement): a phase
   * that hangs must not keep production away for ever, however alive the tuner is.
   */
  enterPhase(limitSeconds: number): void {
    this.#phaseEndMs = this.#clock.nowMs() + limitSeconds * 1000;
  }

  /** Renews once: from now for the lease's length, but not past the phase's deadline. */
  async renew(): Promise<void> {
    const phaseLeftSeconds = (this.#phaseEndMs - this.#clock.nowMs()) / 1000;
    const seconds = Math.min(this.leaseSeconds, phaseLeftSeconds + this.leaseSeconds / 3);
    if (seconds <= 0) return;
    const endSeconds = Math.ceil((await readUptimeSeconds(this.#access.host)) + seconds);
    await this.#access.root.writeText(this.#access.paths.lease, `${endSeconds}\n`, { mode: 0o600 });
  }

  /** Renews in the background, three times a lease, until `release`. A broken link is waited out. */
  hold(): void {
    if (this.#stopHolding !== undefined) return;
    const stop = new AbortController();
    this.#stopHolding = stop;
    this.#holding = this.#renewRepeatedly(stop.signal);
  }

  /** Stops renewing. The timer stays armed: `disarmGuard` removes it. */
  async release(): Promise<void> {
    this.#stopHolding?.abort();
    this.#stopHolding = undefined;
    await this.#holding;
  }

  async #renewRepeatedly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.renew();
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error;
      }
      // An abort ends the waiting, nothing else does.
      await this.#clock.sleep((this.leaseSeconds / 3) * 1000, signal).catch(() => undefined);
    }
  }
}
