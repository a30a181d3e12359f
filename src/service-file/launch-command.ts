import { quote } from 'shlex';
import { type Assignment, ENV_PREFIX } from '../search-space/assignment.ts';
import { variableText } from '../search-space/values.ts';
import { REDACTED, redactArgv, redactEnvironment } from '../sglang/redact.ts';

/**
 * Command line that starts the server from a shell: variables in front through `env`, every word
 * quoted. It holds what argv and variables hold, secrets included: redact before showing.
 *
 * @param environment undefined: the process must not have this variable.
 */
export function launchCommand(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): string {
  const entries = Object.entries(environment);
  const unset = entries.flatMap(([name, value]) => (value === undefined ? ['-u', name] : []));
  const set = entries.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  const words = entries.length === 0 ? argv : ['env', ...unset, ...set, ...argv];
  return words.map((word) => quote(word)).join(' ');
}

/**
 * Text of `launch-command.txt`: the command of an assignment with the variables it sweeps, without
 * secrets, and a comment that names each word whose secret must be filled in.
 *
 * @param argv the command with the assignment's flags already in it.
 */
export function launchCommandFile(argv: readonly string[], assignment: Assignment): string {
  const swept = Object.entries(assignment).flatMap(([name, value]) =>
    name.startsWith(ENV_PREFIX)
      ? [[name.slice(ENV_PREFIX.length), variableText(value)] as const]
      : [],
  );
  const set = swept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const shown = redactEnvironment(Object.fromEntries(set) as Record<string, string>);
  const unset = swept.filter(([, value]) => value === undefined);
  const words = redactArgv(argv);
  const masked = [
    ...words.flatMap((word, i) => (word.includes(REDACTED) ? [placeOf(words, i)] : [])),
    ...Object.keys(shown).filter((name) => shown[name]?.includes(REDACTED) === true),
  ];
  const note =
    masked.length === 0
      ? ''
      : `# ${REDACTED} stands for what is not stored. Fill in: ${[...new Set(masked)].join(', ')}\n`;
  return `${note}${launchCommand(words, { ...Object.fromEntries(unset), ...shown })}\n`;
}

/** What people know a masked word by: its flag, else its own name in front of `=`. */
function placeOf(words: readonly string[], index: number): string {
  const [name = '', value] = words[index]?.split('=') ?? [];
  if (value !== undefined && !name.includes(REDACTED)) return name;
  return words[index - 1] ?? name;
}
