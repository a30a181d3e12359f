import type { Clock } from '../clock.ts';
import type { Host } from '../host/host.ts';
import { HostUnreachableError } from '../host/ssh-errors.ts';
import type { SystemdAccess } from './systemd-access.ts';
import type { EnvironmentChange } from './systemd-drop-in.ts';
import { showUnit } from './systemd-unit-state.ts';

/** Between fork and exec a process shows systemd's command line; an interpreter may follow. */
const PROOF_SECONDS = 10;
const POLL_MS = 200;

/**
 * Proves from /proc that the process runs the argv and environment that were asked.
 *
 * @returns what differs, as one sentence; undefined when all is as asked, and `gone` when the
 *   process ended before anything could be proven.
 */
export async function proveProcess(
  access: SystemdAccess,
  pid: number,
  argv: readonly string[],
  change: EnvironmentChange,
  clock: Clock,
): Promise<string | undefined> {
  const deadlineMs = clock.nowMs() + PROOF_SECONDS * 1000;
  for (;;) {
    const words = splitZeros(await readIfThere(access.host, `/proc/${pid}/cmdline`));
    if (words !== undefined && runs(words, argv)) return environmentProblem(access, pid, change);
    const { mainPid } = await showUnit(access);
    if (mainPid !== pid) return 'gone';
    if (clock.nowMs() >= deadlineMs) {
      return words === undefined
        ? `the command line of its process ${pid} cannot be read`
        : `it runs another command than asked (first difference: ${firstDifference(words, argv)})`;
    }
    await clock.sleep(POLL_MS);
  }
}

/**
 * Whether a process's words are the asked ones. A program that is a script shows its interpreter
 * and its own path first; the arguments are the same in any case.
 */
export function runs(words: readonly string[], argv: readonly string[]): boolean {
  const args = argv.slice(1);
  if (words.length < argv.length) return false;
  return args.every((word, i) => words[words.length - args.length + i] === word);
}

async function environmentProblem(
  access: SystemdAccess,
  pid: number,
  { set, unset }: EnvironmentChange,
): Promise<string | undefined> {
  const names = [...Object.keys(set), ...unset];
  if (names.length === 0) return undefined;
  const entries = splitZeros(await readIfThere(access.root, `/proc/${pid}/environ`));
  if (entries === undefined) return 'gone';
  const has = new Map(
    entries.map((entry) => {
      const equals = entry.indexOf('=');
      return [entry.slice(0, equals), entry.slice(equals + 1)] as const;
    }),
  );
  // Values may be secrets: only names are shown.
  const wrong = names.filter((name) => has.get(name) !== set[name]);
  return wrong.length === 0 ? undefined : `its variables ${wrong.join(', ')} are not as asked`;
}

/** A process that ends while its file is read makes the reading fail, which is no error here. */
async function readIfThere(host: Host, path: string): Promise<string | undefined> {
  try {
    return await host.readText(path);
  } catch (error) {
    if (error instanceof HostUnreachableError) throw error;
    return undefined;
  }
}

/** Words of a zero-separated file of /proc; undefined when it is gone or empty. */
function splitZeros(text: string | undefined): string[] | undefined {
  if (text === undefined || text === '') return undefined;
  return text.replace(/\0$/, '').split('\0');
}

function firstDifference(words: readonly string[], argv: readonly string[]): string {
  const at = argv.findIndex((word, i) => words[i] !== word);
  const flag = argv[at]?.startsWith('--') === true ? argv[at] : argv[at - 1];
  return `word ${at + 1}${flag?.startsWith('--') === true ? `, at ${flag}` : ''}`;
}
