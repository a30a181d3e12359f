import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { isAlive, liveProcess, readProc } from './process-table.ts';

/** Who holds a lock; the text of the lock file is this as JSON. */
interface LockOwner {
  readonly pid: number;
  readonly startTicks: number;
  /** A pid and start time mean nothing after a reboot. */
  readonly bootId: string;
  readonly machine: string;
  readonly sinceMs: number;
  /** Distinguishes two locks of one process. */
  readonly token: string;
}

export interface LockRequest {
  readonly path: string;
  /** What is locked, as shown to users: "the target http://127.0.0.1:30000". */
  readonly what: string;
  readonly clock: Clock;
}

/** A held lock. Disposing releases it; releasing twice is harmless. */
export interface Lock extends AsyncDisposable {
  readonly path: string;
  /** Set when an earlier owner had ended without releasing it; says who and since when. */
  readonly takenOver?: string;
  release(): Promise<void>;
}

/** The guarded steps take milliseconds. */
const GUARD_MS = 10_000;

/** Lock file of a server address on this machine; the same for every user and every study. */
export function targetLockPath(baseUrl: string): string {
  const { port, protocol } = new URL(baseUrl);
  return join(tmpdir(), `nightsweep-port-${port || protocol.replace(':', '')}.lock`);
}

/** Lock file of a database: beside it, so that it is found from every path to the file's folder. */
export function databaseLockPath(databasePath: string): string {
  return `${resolve(databasePath)}.lock`;
}

/**
 * Takes a lock, or throws UserError naming its owner and age.
 *
 * A lock whose owner has ended is taken over. One from another machine (a shared folder) cannot
 * be judged and stands until its file is deleted.
 */
export async function acquireLock({ path, what, clock }: LockRequest): Promise<Lock> {
  const me = ownership(clock);
  const draft = `${path}.${me.token}.draft`;
  const guard = await enterGuard(path, clock);
  try {
    await mkdir(dirname(path), { recursive: true });
    const takenOver = await staleOwner({ path, what, clock });
    await writeFile(draft, `${JSON.stringify(me)}\n`, { mode: 0o644 });
    await rename(draft, path);
    return heldLock(path, me, takenOver);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot lock ${what} with the file ${path}`, { cause: error });
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
    guard.close();
  }
}

/** Who left the lock behind, as a sentence; undefined when it is free. Throws when it is held. */
async function staleOwner({ path, what, clock }: LockRequest): Promise<string | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const owner = parseOwner(text);
  if (owner !== undefined && mayBeAlive(owner)) throw heldBy(owner, path, what, clock);
  return `${what}: took over the lock of ${describeOwner(owner, clock)}, which has ended`;
}

/**
 * Lets one process at a time look at a lock file and replace it.
 *
 * A listening socket with a name outside the file system (Linux): the kernel gives it to one
 * process, and takes it back whenever that ends. A second file could itself be left behind.
 * @see unix(7), abstract sockets
 */
async function enterGuard(path: string, clock: Clock): Promise<Server> {
  const name = createHash('sha256').update(resolve(path)).digest('hex').slice(0, 32);
  const deadlineMs = clock.nowMs() + GUARD_MS;
  for (;;) {
    const server = createServer();
    try {
      server.listen({ path: `\0nightsweep-${name}`, exclusive: true });
      await once(server, 'listening');
      return server;
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE' || clock.nowMs() > deadlineMs) throw error;
      await clock.sleep(10);
    }
  }
}

function ownership(clock: Clock): LockOwner {
  return {
    pid: process.pid,
    startTicks: liveProcess(process.pid)?.startTicks ?? 0,
    bootId: bootId(),
    machine: hostname(),
    sinceMs: clock.wallMs(),
    token: randomUUID(),
  };
}

function heldLock(path: string, me: LockOwner, takenOver: string | undefined): Lock {
  const release = async () => {
    const text = await readIfThere(path);
    // Somebody may have deleted the file and taken the lock: then it is theirs.
    if (text !== undefined && parseOwner(text)?.token === me.token) await rm(path, { force: true });
  };
  const base = { path, release, [Symbol.asyncDispose]: release };
  return takenOver === undefined ? base : { ...base, takenOver };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined for a file that is no lock of ours, such as one cut short by a full disk. */
function parseOwner(text: string): LockOwner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isOwner(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isOwner(value: unknown): value is LockOwner {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, startTicks, bootId, machine, sinceMs, token } = value as Record<string, unknown>;
  const numbers = [pid, startTicks, sinceMs].every((field) => typeof field === 'number');
  return numbers && [bootId, machine, token].every((field) => typeof field === 'string');
}

function mayBeAlive(owner: LockOwner): boolean {
  if (owner.machine !== hostname()) return true;
  return owner.bootId === bootId() && isAlive(owner);
}

function heldBy(owner: LockOwner, path: string, what: string, clock: Clock): UserError {
  const elsewhere = owner.machine !== hostname();
  return new UserError(`${what} is in use by ${describeOwner(owner, clock)}`, {
    hint: elsewhere
      ? `If that sweep has ended, delete ${path}.`
      : 'One sweep per target and database: wait for it, or stop it.',
  });
}

function describeOwner(owner: LockOwner | undefined, clock: Clock): string {
  if (owner === undefined) return 'an unreadable lock file';
  const where = owner.machine === hostname() ? '' : ` on ${owner.machine}`;
  return `the sweep with pid ${owner.pid}${where}, started ${age(clock.wallMs() - owner.sinceMs)} ago`;
}

function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bootId(): string {
  return readProc('sys/kernel/random/boot_id')?.trim() ?? '';
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
