import { z } from 'zod';
import { EndOfSweepError, UserError } from '../errors.ts';
import { HostUnreachableError } from '../host/ssh-errors.ts';
import type { SystemdAccess } from './systemd-access.ts';
import {
  readUnitFiles,
  sha256,
  showUnit,
  type UnitState,
  unreadDropIns,
} from './systemd-unit-state.ts';

const journalSchema = z.object({
  version: z.literal(1),
  unit: z.string(),
  /** Wall-clock ms at which the sweep took the unit. */
  takenAtMs: z.number(),
  study: z.string(),
  /** Path and SHA-256 of every file of the unit, ours excluded. */
  files: z.array(z.object({ path: z.string(), sha256: z.string() })),
  unitFileState: z.string(),
  /** Whether production ran, and so must run again. */
  wasActive: z.boolean(),
  /** SHA-256 of the production process's command line; empty when it did not run. */
  commandSha256: z.string(),
});

/**
 * What the unit was before a sweep changed anything. It lies on the target, so that any machine
 * with access can restore, and the caller keeps a copy in the study's database. It holds no text
 * of the unit: nothing is ever written back over the production files.
 */
export type SystemdJournal = z.infer<typeof journalSchema>;

/** Reads a journal from text; throws UserError when it is none of this version. */
export function parseJournal(text: string, where: string): SystemdJournal {
  try {
    return journalSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new UserError(`${where} is not a journal of this version of nightsweep`, {
      cause: error,
    });
  }
}

/** Describes the unit as it is now. Nothing is written. */
export async function describeProduction(
  access: SystemdAccess,
  study: string,
  nowMs: number,
): Promise<SystemdJournal> {
  const state = await showUnit(access);
  const files = await readUnitFiles(access, state);
  return {
    version: 1,
    unit: access.unit,
    takenAtMs: nowMs,
    study,
    files: files.map(({ path, text }) => ({ path, sha256: sha256(text) })),
    unitFileState: state.unitFileState,
    wasActive: isActive(state),
    commandSha256: await commandSha256(access, state),
  };
}

export function isActive({ activeState }: Pick<UnitState, 'activeState'>): boolean {
  return ['active', 'activating', 'reloading'].includes(activeState);
}

/** SHA-256 of the main process's command line; empty when it cannot be read. */
export async function commandSha256(
  access: SystemdAccess,
  { mainPid }: UnitState,
): Promise<string> {
  if (mainPid === 0) return '';
  const path = `/proc/${mainPid}/cmdline`;
  const text = await access.host.readText(path).catch((error: unknown) => {
    // It ended while it was read.
    if (error instanceof HostUnreachableError) throw error;
    return undefined;
  });
  return text === undefined || text === '' ? '' : sha256(text);
}

/** Puts the journal on the target, readable by its owner only. */
export async function writeJournal(access: SystemdAccess, journal: SystemdJournal): Promise<void> {
  await access.root.writeText(access.paths.journal, `${JSON.stringify(journal, null, 2)}\n`, {
    mode: 0o600,
  });
}

/** The journal on the target; undefined when no sweep holds the unit. */
export async function readJournal(access: SystemdAccess): Promise<SystemdJournal | undefined> {
  const text = await access.root.readText(access.paths.journal);
  return text === undefined ? undefined : parseJournal(text, access.paths.journal);
}

/**
 * Files of the unit that are not as the journal says: edited, added or gone, one line each. Empty
 * when nobody touched them.
 */
export async function editedSince(
  access: SystemdAccess,
  journal: SystemdJournal,
  state: UnitState,
): Promise<string[]> {
  const before = new Map(journal.files.map(({ path, sha256: hash }) => [path, hash]));
  const edits: string[] = [];
  for (const [path, hash] of before) {
    const text = await access.root.readText(path);
    if (text === undefined) edits.push(`${path} was removed`);
    else if (sha256(text) !== hash) edits.push(`${path} was edited`);
  }
  const unread = await unreadDropIns(access, state);
  const added = [state.fragmentPath, ...state.dropInPaths, ...unread].filter(
    (path) => path !== '' && path !== access.paths.dropIn && !before.has(path),
  );
  return [...edits, ...added.map((path) => `${path} was added`)];
}

/** @throws UserError naming what others changed in the unit, if anything. */
export function requireUnedited({ unit }: SystemdAccess, edits: readonly string[]): void {
  if (edits.length === 0) return;
  throw new EndOfSweepError(`${unit} was changed during the sweep: ${edits.join('; ')}`, {
    hint: 'The sweep stops so that the change is not lost. Production comes back with the change in force.',
  });
}
