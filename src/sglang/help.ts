import { UserError } from '../errors.ts';
import { knownFlagType } from './flag-types.ts';
import { RENAMED_FLAGS } from './renamed-flags.ts';

/** How many values a flag takes on the command line (argparse's `nargs`). */
export type FlagTakes = 'nothing' | 'one' | 'optional' | 'many';

export type FlagType = 'integer' | 'number' | 'string' | 'boolean' | 'json';

/** One flag of a server version, as its `--help` shows it. */
export interface FlagHelp {
  /**
   * Canonical long name without dashes: what `/server_info` calls it where help lists several
   * (`tp-size`), else the first long name shown.
   */
  readonly name: string;
  /** Every other spelling the version shows, without dashes, in help order. */
  readonly aliases: readonly string[];
  readonly takes: FlagTakes;
  /** Values it needs at least: 1 for `one`, 0 or 1 for `many`, more for a fixed number. */
  readonly minimumValues: number;
  /** `string` also when we do not know the type: help does not print it. */
  readonly type: FlagType;
  /** Accepted values, in help order; absent when help lists none. */
  readonly choices?: readonly string[];
  /** `--no-x` of a flag that has an off spelling (argparse's BooleanOptionalAction), without dashes. */
  readonly negation?: string;
  /** An integer that may carry a suffix: `16k`, `1Mi`. */
  readonly acceptsSuffix?: boolean;
  /** Help says so itself. */
  readonly deprecated?: boolean;
  /** Help text, unwrapped to one line; empty when there is none. */
  readonly summary: string;
}

/** What a server's `--help` says, flags in help order. */
export interface HelpText {
  /** From the usage line: `sglang serve`, `launch_server.py`. */
  readonly program: string;
  readonly flags: readonly FlagHelp[];
}

/**
 * Names that `/server_info` uses for flags whose help lists another spelling first in some
 * version (`--tensor-parallel-size, --tp-size` until 0.5.10), so that one flag has one name in all versions.
 */
const SERVER_INFO_NAMES: ReadonlySet<string> = new Set([
  'tp-size',
  'pp-size',
  'dp-size',
  'ep-size',
  'attn-cp-size',
  'moe-dp-size',
]);

/**
 * Reads the `--help` text of an SGLang server (argparse's layout, any version from 0.4.9 on).
 *
 * @throws UserError when the text is not a help text; the message names what was found instead.
 */
export function parseHelp(text: string): HelpText {
  const lines = stripAnsi(text).split(/\r?\n/);
  const usageAt = lines.findIndex((line) => line.startsWith('usage:'));
  if (usageAt < 0) throw notHelp(text, 'it has no "usage:" line');
  const rest = lines.slice(usageAt + 1);
  // `sglang serve --help` may append the help of other servers, each with its own usage line.
  const nextUsage = rest.findIndex((line) => line.startsWith('usage:'));
  const entries = splitEntries(nextUsage < 0 ? rest : rest.slice(0, nextUsage));
  const flags = foldRenamed(entries.map(parseEntry).filter((flag) => flag !== undefined));
  if (!flags.some((flag) => flag.name !== 'help')) {
    throw notHelp(text, 'it lists no flags under "options:"');
  }
  const program = /^usage:\s+(.*?)\s*(?:\[|--|$)/.exec(lines[usageAt] ?? '')?.[1] ?? '';
  return { program, flags };
}

/** One option of the help text: its invocation (`--tp-size TP_SIZE, --tp TP_SIZE`) and its description. */
interface HelpEntry {
  readonly invocation: string;
  readonly summary: string;
}

/** Options start at two blanks and a dash; their text follows after two blanks or on deeper lines. */
function splitEntries(lines: readonly string[]): HelpEntry[] {
  const entries: { invocation: string; text: string[] }[] = [];
  let current: { invocation: string; text: string[] } | undefined;
  for (const line of lines) {
    const head = /^ {1,4}(-\S.*?)(?:\s{2,}(\S.*))?$/.exec(line);
    if (head?.[1] !== undefined) {
      current = { invocation: head[1], text: head[2] === undefined ? [] : [head[2]] };
      entries.push(current);
    } else if (/^\s{5,}\S/.test(line)) {
      current?.text.push(line.trim());
    } else if (/^\S/.test(line)) {
      current = undefined;
    }
  }
  return entries.map(({ invocation, text }) => ({ invocation, summary: unwrap(text) }));
}

/** Joins wrapped lines; argparse also wraps after a hyphen, where no blank belongs. */
function unwrap(lines: readonly string[]): string {
  return lines.reduce(
    (text, line) => (text === '' ? line : /[\w}]-$/.test(text) ? text + line : `${text} ${line}`),
    '',
  );
}

function parseEntry({ invocation, summary }: HelpEntry): FlagHelp | undefined {
  const parts = invocation.split(/, (?=-)/).map((part) => /^(-[^\s=]+)[\s=]*(.*)$/.exec(part));
  const spellings = parts.flatMap((part) => (part?.[1] === undefined ? [] : [part[1]]));
  const long = spellings.filter((name) => name.startsWith('--')).map((name) => name.slice(2));
  const short = spellings.filter((name) => !name.startsWith('--')).map((name) => name.slice(1));
  const negation = long.find(
    (name) => long.includes(name.replace(/^no-/, '')) && /^no-/.test(name),
  );
  const positive = long.filter((name) => name !== negation);
  const name = positive.find((candidate) => SERVER_INFO_NAMES.has(candidate)) ?? positive[0];
  if (name === undefined) return undefined;
  // Python 3.13 shows the value once, after the last spelling; older versions after each.
  const spec = parts.map((part) => part?.[2] ?? '').findLast((value) => value !== '') ?? '';
  const choices = parseChoices(spec);
  const { takes, minimumValues } = parseTakes(spec);
  return {
    name,
    aliases: [...positive.filter((alias) => alias !== name), ...short],
    takes,
    minimumValues,
    type: flagType(takes, [name, ...positive], choices),
    ...(choices === undefined ? {} : { choices }),
    ...(negation === undefined ? {} : { negation }),
    ...(summary.includes('IEC suffixes') ? { acceptsSuffix: true } : {}),
    ...(isDeprecated(summary) ? { deprecated: true } : {}),
    summary,
  };
}

/** `{a,b}`: choices, also inside the brackets of a many-valued flag. */
function parseChoices(spec: string): string[] | undefined {
  const list = /\{([^}]*)\}/.exec(spec)?.[1];
  return list?.split(',').map((choice) => choice.trim());
}

/** `X` one, `[X]` optional, `[X ...]` any number, `X [X ...]` at least one, `X X` a fixed number. */
function parseTakes(spec: string): { takes: FlagTakes; minimumValues: number } {
  if (spec === '') return { takes: 'nothing', minimumValues: 0 };
  const required = spec.replace(/\[[^\]]*\]/g, '').trim();
  const minimumValues = required === '' ? 0 : required.split(/\s+/).length;
  if (spec.includes('...') || minimumValues > 1) return { takes: 'many', minimumValues };
  return { takes: minimumValues === 0 ? 'optional' : 'one', minimumValues };
}

function flagType(
  takes: FlagTakes,
  names: readonly string[],
  choices?: readonly string[],
): FlagType {
  if (takes === 'nothing') return 'boolean';
  if (choices !== undefined) {
    return choices.every((choice) => /^-?\d+$/.test(choice)) ? 'integer' : 'string';
  }
  return names.map(knownFlagType).find((type) => type !== undefined) ?? 'string';
}

function isDeprecated(summary: string): boolean {
  return /^[([]?deprecated\b/i.test(summary) || /^Note: --\S+ is deprecated/.test(summary);
}

/**
 * A version that shows both names of a renamed flag takes the same value under either: the old
 * one becomes an alias of the new one, so that an argv never holds both.
 */
function foldRenamed(flags: readonly FlagHelp[]): FlagHelp[] {
  const shown = new Set(flags.map((flag) => flag.name));
  const successorOf = (name: string): string | undefined =>
    RENAMED_FLAGS.find((rename) => rename.old === name && shown.has(rename.successor))?.successor;
  return flags
    .filter((flag) => successorOf(flag.name) === undefined)
    .map((flag) => {
      const old = flags.filter((other) => successorOf(other.name) === flag.name);
      if (old.length === 0) return flag;
      return { ...flag, aliases: [...flag.aliases, ...old.map((other) => other.name)] };
    });
}

function stripAnsi(text: string): string {
  return text.replace(/\u001B\[[0-9;]*m/g, '');
}

/** The last line that says something names the reason best: a traceback ends with its error. */
function notHelp(text: string, why: string): UserError {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const shown = lines.at(-1)?.trim().slice(0, 200);
  const found = shown === undefined ? 'it is empty' : `its last line is "${shown}"`;
  return new UserError(`this is not the help text of an SGLang server: ${why}; ${found}`, {
    hint: 'Take it from the version that serves: python3 -m sglang.launch_server --help > help.txt, in the environment of the unit.',
  });
}
