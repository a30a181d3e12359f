import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { z } from 'zod';
import { EndOfSweepError, UserError } from '../errors.ts';
import { removeFiles, type SystemdAccess } from './systemd-access.ts';
import { readUptimeSeconds } from './systemd-lease.ts';

const ownerSchema = z.object({
  /** Unique for each run of a tuner. */
  id: z.string(),
  /** `user@machine`, for people. */
  who: z.string(),
  machineId: z.string(),
  pid: z.number(),
  study: z.string(),
  /** Wall-clock ms on the tuner's machine. */
  sinceMs: z.number(),
});

/** The tuner that holds a target. */
export type LockOwner = z.infer<typeof ownerSchema>;

const COMMAND_LIMIT_MS = 30_000;

/** This process as the owner of a lock. */
export async function thisTuner(study: string, nowMs: number): Promise<LockOwner> {
  const machineId = await readFile('/etc/machine-id', 'utf8').catch(() => hostname());
  return {
    id: randomUUID(),
    who: `${userInfo().username}@${hostname()}`,
    machineId: machineId.trim(),
    pid: process.pid,
    study,
    sinceMs: nowMs,
  };
}

/** File that becomes the lock. */
export function claimPath({ paths }: SystemdAccess): string {
  return `${paths.lock}.claim`;
}

/** The words that turn the claim into the lock, unless there is one. */
export function placeWords(access: SystemdAccess): string[] {
  return ['ln', '-T', '--', claimPath(access), access.paths.lock];
}

/** Who holds the unit; undefined when nobody does. */
export async function lockOwner(access: SystemdAccess): Promise<LockOwner | undefined> {
  const text = await access.root.readText(access.paths.lock);
  if (text === undefined) return undefined;
  try {
    return ownerSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new UserError(`${access.paths.lock} on ${access.host.name} is not a lock of nightsweep`, {
      cause: error,
    });
  }
}

/**
 * Takes the unit for `owner`, in one step: of two tuners at the same moment one gets it.
 *
 * A lock whose owner was a process of this machine that has ended is taken over by itself; any
 * other needs `takeOver`. Throws UserError that names the owner, its age and whether its lease is
 * still running.
 */
export async function takeLock(
  access: SystemdAccess,
  owner: LockOwner,
  { takeOver = false, nowMs }: { readonly takeOver?: boolean; readonly nowMs: number },
): Promise<void> {
  const draft = claimPath(access);
  const place = async () => {
    // A hard link is made or refused as a whole, and comes with its content: perhaps another
    // tuner's, who wrote the draft in the same moment. Whose it is decides.
    await access.root.writeText(draft, `${JSON.stringify(owner)}\n`);
    await access.root.run({ argv: placeWords(access), timeoutMs: COMMAND_LIMIT_MS });
    return lockOwner(access);
  };
  try {
    const held = await place();
    if (held?.id === owner.id) return;
    if (held !== undefined && !takeOver && !hasEnded(held, owner)) {
      throw heldBy(access, held, await leaseText(access), nowMs);
    }
    await removeFiles(access, access.paths.lock);
    const next = await place();
    if (next?.id === owner.id) return;
    const who = next === undefined ? 'its folder cannot be written' : `${next.who} was faster`;
    throw new UserError(`cannot lock ${access.unit} on ${access.host.name}: ${who}`);
  } finally {
    await removeFiles(access, draft);
  }
}

/** Throws EndOfSweepError unless the lock is still ours: a tuner that was cut off must take it again. */
export async function requireLock(access: SystemdAccess, owner: LockOwner): Promise<void> {
  const held = await lockOwner(access);
  if (held?.id === owner.id) return;
  const now = held === undefined ? 'nobody' : `${held.who} (study ${held.study})`;
  throw new EndOfSweepError(
    `${access.unit} on ${access.host.name} is not ours any more: ${now} holds it`,
    {
      hint: 'The lease ran out while the link was broken, and production was restored. Run the same command again to go on.',
    },
  );
}

/** Releases the lock if it is ours. */
export async function releaseLock(access: SystemdAccess, owner: LockOwner): Promise<void> {
  const held = await lockOwner(access);
  if (held?.id === owner.id) await removeFiles(access, access.paths.lock);
}

function hasEnded(held: LockOwner, us: LockOwner): boolean {
  if (held.machineId !== us.machineId) return false;
  try {
    process.kill(held.pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

async function leaseText(access: SystemdAccess): Promise<string> {
  const lease = Number(await access.root.readText(access.paths.lease));
  if (!(lease > 0)) return 'without a lease';
  const leftSeconds = Math.round(lease - (await readUptimeSeconds(access.host)));
  return leftSeconds > 0
    ? `its lease runs for another ${leftSeconds} s`
    : `its lease ran out ${-leftSeconds} s ago`;
}

function heldBy(access: SystemdAccess, held: LockOwner, lease: string, nowMs: number): UserError {
  const minutes = Math.max(0, Math.round((nowMs - held.sinceMs) / 60_000));
  return new UserError(
    `${access.unit} on ${access.host.name} is held by ${held.who}, process ${held.pid}, study ${held.study}, for ${minutes} min; ${lease}`,
    {
      hint: 'If that sweep is gone, restore production with "nightsweep restore", or take over with --take-over.',
    },
  );
}
