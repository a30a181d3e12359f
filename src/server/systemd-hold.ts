import type { Clock } from '../clock.ts';
import type { SystemdAccess } from './systemd-access.ts';
import type { ProductionCommand } from './systemd-drop-in.ts';
import { makePermanent, type PermanentDropIn } from './systemd-install.ts';
import {
  describeProduction,
  requireUnedited,
  type SystemdJournal,
  writeJournal,
} from './systemd-journal.ts';
import { armGuard, armLease, type Lease } from './systemd-lease.ts';
import { lockOwner, requireLock, takeLock, thisTuner } from './systemd-lock.ts';
import {
  forgetHold,
  type RestoreReport,
  requireRestored,
  restoreProduction,
} from './systemd-restore.ts';
import type { SystemdStopLimits } from './systemd-stop.ts';
import { SystemdTarget } from './systemd-target.ts';
import { showUnit } from './systemd-unit-state.ts';

export interface HoldOptions {
  readonly study: string;
  readonly production: ProductionCommand;
  readonly leaseSeconds: number;
  readonly clock: Clock;
  /** Take the unit from an owner who may still be alive. */
  readonly takeOver?: boolean;
  readonly stopLimits?: SystemdStopLimits;
  /** Gets the journal before anything is changed, to keep it in the study's database. */
  readonly keepJournal?: (journal: SystemdJournal) => void;
}

/** A unit that a sweep holds: locked, its production described, the restore timer armed. */
export interface HeldUnit {
  readonly target: SystemdTarget;
  readonly journal: SystemdJournal;
  /** Call `enterPhase` at each phase; renewed in the background until `giveBack`. */
  readonly lease: Lease;
  /** What an interrupted sweep had left behind and was put right first; empty mostly. */
  readonly mended: readonly string[];
  /**
   * Restores production, proves it, and releases timer and lock. Throws UserError when production
   * is not as before: then timer, lock and journal stay. Nothing is touched, and UserError thrown,
   * when another sweep holds the unit by now.
   */
  giveBack(proveServing?: () => Promise<void>): Promise<RestoreReport>;
  /**
   * Takes the unit again when the target has restored production by itself: it was rebooted, or
   * the lease ran out while the link was broken. Returns whether that was so.
   *
   * @throws UserError when another sweep holds the unit by now, or somebody has edited it.
   */
  regain(): Promise<boolean>;
  /**
   * Makes the drop-in that is in force now permanent, and releases the unit instead of giving it
   * back. The process runs on. Throws UserError when that fails: then `giveBack`.
   */
  keep(dropIn: PermanentDropIn): Promise<string | undefined>;
}

/**
 * Brings production back where a sweep that died still has its trial in force, so that what is
 * read next is production. Returns what was done; touches nothing where there is no such trial.
 *
 * @throws UserError when a sweep that may be alive holds the unit, or production does not come back.
 */
export async function mendUnit(
  access: SystemdAccess,
  { study, clock, takeOver = false }: Pick<HoldOptions, 'study' | 'clock' | 'takeOver'>,
): Promise<readonly string[]> {
  const { dropInPaths } = await showUnit(access);
  if (!dropInPaths.includes(access.paths.dropIn)) return [];
  const owner = await thisTuner(study, clock.wallMs());
  await takeLock(access, owner, { takeOver, nowMs: clock.wallMs() });
  const report = await restoreProduction(access, { clock });
  requireRestored(access, report);
  return report.steps;
}

/**
 * Takes the unit for a sweep: lock, restore of what an interrupted sweep left, description of
 * production, timer, journal. Nothing of the unit itself changes; from here on it comes back
 * whatever dies.
 *
 * The timer is armed before the journal is written: a journal without a timer would promise a
 * restore that nobody does.
 */
export async function holdUnit(access: SystemdAccess, options: HoldOptions): Promise<HeldUnit> {
  const { study, clock } = options;
  const owner = await thisTuner(study, clock.wallMs());
  await takeLock(access, owner, { takeOver: options.takeOver ?? false, nowMs: clock.wallMs() });
  const left = await restoreProduction(access, { clock, keep: 'lock' });
  requireRestored(access, left);
  const journal = await describeProduction(access, study, clock.wallMs());
  options.keepJournal?.(journal);
  const lease = await armLease(access, journal, { leaseSeconds: options.leaseSeconds, clock });
  await writeJournal(access, journal);
  lease.hold();
  const target = new SystemdTarget({
    access,
    production: options.production,
    journal,
    owner,
    clock,
    ...(options.stopLimits === undefined ? {} : { stopLimits: options.stopLimits }),
  });
  return {
    target,
    journal,
    lease,
    mended: left.steps,
    giveBack: async (proveServing) => {
      try {
        const holder = await lockOwner(access);
        // The lease ran out and somebody else took over: production is theirs to restore.
        if (holder !== undefined && holder.id !== owner.id) await requireLock(access, owner);
        const keep = 'everything';
        const report = await restoreProduction(access, { journal, clock, proveServing, keep });
        requireRestored(access, report);
        // Only now, so that a long restore does not meet the timer's own; and before its file is
        // removed, which a late renewal would write anew.
        await lease.release();
        return { ...report, steps: [...report.steps, ...(await forgetHold(access))] };
      } finally {
        // After a failed restore the timer must be free to try.
        await lease.release();
      }
    },
    regain: async () => {
      const holder = await lockOwner(access);
      if (holder?.id === owner.id) return false;
      if (holder !== undefined) await requireLock(access, owner);
      await takeLock(access, owner, { nowMs: clock.wallMs() });
      const left = await restoreProduction(access, { journal, clock, keep: 'lock' });
      requireRestored(access, left);
      requireUnedited(access, left.edits);
      // The phase that was cut off may have ended: a timer without a lease would fire at once.
      lease.enterPhase(options.leaseSeconds);
      await armGuard(access, journal, lease);
      await writeJournal(access, journal);
      return true;
    },
    keep: async (dropIn) => {
      await requireLock(access, owner);
      await makePermanent(access, dropIn);
      try {
        await lease.release();
        await forgetHold(access);
        return undefined;
      } catch (error) {
        // It is in force: whoever took this for a failure would say that production is back.
        return `the lock could not be given back (${error instanceof Error ? error.message : String(error)}); "nightsweep restore" does`;
      }
    },
  };
}
