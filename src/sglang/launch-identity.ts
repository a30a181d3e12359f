import type { Assignment } from '../search-space/assignment.ts';
import type { HelpText } from './help.ts';
import { objectOf } from './server-info.ts';

/** Echoed in `/server_info`, `/model_info` and every answer of `/generate` from 0.5.2 on. */
const NAME_FLAG = 'weight-version';

/**
 * Flag and value that give a launched server a name of its own; undefined where the version has no
 * flag for it. Nothing else reads the name, so the server runs as it would without.
 */
export function serverName(help: HelpText, unique: string): Assignment | undefined {
  if (!help.flags.some(({ name }) => name === NAME_FLAG)) return undefined;
  return { [NAME_FLAG]: `nightsweep-${unique}` };
}

/**
 * Why the server that reports `serverInfo` is not the one that was launched: another name, or a
 * launch command with other flags. Undefined when it is, or when it does not tell.
 *
 * A second SGLang on a taken port says that it is ready, because its warm-up reached the first
 * one (seen with 0.5.23). Flags are compared and not their values, which may be secrets.
 */
export function strangerIn(
  serverInfo: unknown,
  argv: readonly string[],
  help: HelpText,
  name: Assignment | undefined,
): string | undefined {
  const info = objectOf(serverInfo);
  const expected = name?.[NAME_FLAG];
  const reported = info['weight_version'];
  if (expected !== undefined && typeof reported === 'string' && reported !== expected) {
    return `the server that answers calls itself "${reported.slice(0, 80)}" and not "${String(expected)}": it is not the one that was launched`;
  }
  const command = info['launch_command'];
  // What stands in a file of flags may or may not be repeated there.
  if (typeof command !== 'string' || argv.includes('--config')) return undefined;
  // What is no field of the server is a flag of something in front of it, and proves nothing.
  const fields = help.flags.filter(({ name }) => info[name.replaceAll('-', '_')] !== undefined);
  const known = new Set(fields.flatMap(({ name, aliases }) => [name, ...aliases]));
  const own = flagsIn(argv, known);
  const others = flagsIn(command.split(/\s+/), known);
  const different =
    [...own].find((flag) => !others.has(flag)) ?? [...others].find((flag) => !own.has(flag));
  if (different === undefined) return undefined;
  return `the server that answers was started with other flags (--${different}): it is not the one that was launched`;
}

function flagsIn(words: readonly string[], known: ReadonlySet<string>): ReadonlySet<string> {
  const flags = words.flatMap((word) => /^--([A-Za-z][\w-]*)(?==|$)/.exec(word)?.[1] ?? []);
  return new Set(flags.filter((flag) => known.has(flag)));
}
