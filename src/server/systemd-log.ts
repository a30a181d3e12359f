import { lastEntry } from '../service-file/merge.ts';
import { expandSpecifiers, nameSpecifiers } from '../service-file/specifiers.ts';
import { parseUnitText } from '../service-file/unit-text.ts';
import { type SystemdAccess, systemdWords } from './systemd-access.ts';
import { readUnitFiles, type UnitState } from './systemd-unit-state.ts';

/** Reads what a launch printed, piece by piece. */
export interface LogReader {
  /** What came since the last call; empty when nothing did. */
  read(): Promise<string>;
}

const COMMAND_LIMIT_MS = 30_000;
/** A start-up prints some kilobytes a second; more than this at once is left out. */
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * The log of one invocation: from the files that the unit writes (`StandardOutput=append:…`), else
 * from the journal. Call before the start: files are read from their present end on.
 */
export async function openLog(access: SystemdAccess, state: UnitState): Promise<LogFactory> {
  const files = await readUnitFiles(access, state);
  // "systemctl show" tells "append" without the path (systemd 252), so the unit is read.
  const units = files.map(({ text, path }) => parseUnitText(text, path));
  const written = lastEntry(units, 'StandardOutput')?.entry.value ?? '';
  const output = expandSpecifiers(written, nameSpecifiers(access.unit)).text;
  const file = /^(?:append|truncate|file):(?<path>\/.*)$/.exec(output)?.groups?.['path'];
  if (file === undefined) return (invocationId) => new JournalLog(access, invocationId);
  const grows = output.startsWith('append:');
  const offset = grows ? await fileSize(access, file) : 0;
  return () => new FileLog(access, file, offset);
}

export type LogFactory = (invocationId: string) => LogReader;

class JournalLog implements LogReader {
  readonly #access: SystemdAccess;
  readonly #invocationId: string;
  #cursor: string | undefined;

  constructor(access: SystemdAccess, invocationId: string) {
    this.#access = access;
    this.#invocationId = invocationId;
  }

  async read(): Promise<string> {
    const result = await this.#access.root.run({
      argv: journalWords(this.#access, this.#invocationId, this.#cursor),
      timeoutMs: COMMAND_LIMIT_MS,
      maxOutputBytes: PIECE_BYTES,
      repeatable: true,
    });
    const marker = result.stdout.lastIndexOf('-- cursor: ');
    if (result.exitCode !== 0 || marker < 0) return '';
    this.#cursor = result.stdout.slice(marker + '-- cursor: '.length).trim();
    return result.stdout.slice(0, marker);
  }
}

function journalWords(
  access: SystemdAccess,
  invocationId: string,
  cursor: string | undefined,
): string[] {
  const words = ['--no-pager', '--quiet', '--output=cat', '--show-cursor'];
  const after = cursor === undefined ? [] : [`--after-cursor=${cursor}`];
  // "-- No entries --" comes with no cursor, so nothing is mistaken for a line of the server.
  const match = [`_SYSTEMD_INVOCATION_ID=${invocationId}`];
  return systemdWords(access, 'journalctl', ...words, ...after, ...match);
}

class FileLog implements LogReader {
  readonly #access: SystemdAccess;
  readonly #path: string;
  #offset: number;

  constructor(access: SystemdAccess, path: string, offset: number) {
    this.#access = access;
    this.#path = path;
    this.#offset = offset;
  }

  async read(): Promise<string> {
    const size = await fileSize(this.#access, this.#path);
    // Rotated or truncated meanwhile: it begins again.
    if (size < this.#offset) this.#offset = 0;
    if (size === this.#offset) return '';
    const result = await this.#access.root.run({
      argv: ['tail', '-c', `+${this.#offset + 1}`, '--', this.#path],
      timeoutMs: COMMAND_LIMIT_MS,
      maxOutputBytes: PIECE_BYTES,
      repeatable: true,
    });
    if (result.exitCode !== 0) return '';
    this.#offset = result.truncated ? size : this.#offset + Buffer.byteLength(result.stdout);
    return result.stdout;
  }
}

async function fileSize(access: SystemdAccess, path: string): Promise<number> {
  const result = await access.root.run({
    argv: ['stat', '--format=%s', '--', path],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return result.exitCode === 0 ? Number(result.stdout.trim()) : 0;
}
