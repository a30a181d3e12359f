import { UserError } from '../errors.ts';
import { type FlagLookup, lookupFlag, nearestFlagName } from './flag-names.ts';
import { wordProblem } from './flag-values.ts';
import type { FlagHelp, HelpText } from './help.ts';
import { type EnvironmentWord, findLaunchProgram, unknownProgram } from './launch-program.ts';

/** One flag in an argv, with the words it spans. */
export interface FlagOccurrence {
  /** Canonical name; as spelled when the version does not know it. */
  readonly name: string;
  /** As written, dashes included, without `=value`: `--mem-frac`. */
  readonly spelled: string;
  readonly lookup: FlagLookup;
  /** What help says of it; absent when the version does not know it. */
  readonly flag?: FlagHelp;
  /** Word index of the flag, and of the word after its last value. */
  readonly start: number;
  readonly end: number;
  readonly values: readonly string[];
  /** Written as `--flag=value`. */
  readonly joined: boolean;
  /** The off form, `--no-x`. */
  readonly negated: boolean;
}

/** Something SGLang's parser would say about an argv. */
export type ArgProblem =
  | { readonly code: 'unknown-flag'; readonly spelled: string; readonly nearest?: string }
  | {
      readonly code: 'ambiguous-flag';
      readonly spelled: string;
      readonly candidates: readonly string[];
    }
  | { readonly code: 'retired-flag'; readonly spelled: string; readonly replacement: string }
  | { readonly code: 'hidden-flag'; readonly spelled: string; readonly name: string }
  | { readonly code: 'repeated-flag'; readonly name: string }
  | { readonly code: 'missing-value'; readonly spelled: string }
  | { readonly code: 'unexpected-value'; readonly spelled: string }
  | {
      readonly code: 'bad-value';
      readonly spelled: string;
      readonly value: string;
      readonly expected: string;
    }
  | { readonly code: 'stray-word'; readonly word: string }
  | { readonly code: 'config-file'; readonly file: string };

/** A launch command, understood as the server's argparse understands it. */
export interface LaunchArgs {
  readonly argv: readonly string[];
  /** Number of words in front of the flags. */
  readonly programEnd: number;
  readonly environmentWords: readonly EnvironmentWord[];
  /** In argv order. Of a repeated flag the last one counts. */
  readonly flags: readonly FlagOccurrence[];
  readonly problems: readonly ArgProblem[];
}

export interface ParseOptions {
  /** SGLang version of `help`, to tell hidden aliases from retired names. */
  readonly version?: string | undefined;
  /** Number of words in front of the flags, for a program that is not recognised by name. */
  readonly programEnd?: number | undefined;
}

/**
 * Splits a launch command into its program and its flags, with argparse's rules: aliases, unique
 * prefixes, `--flag=value`, many-valued flags, negative numbers as values, no positional words.
 *
 * Never throws for a flag SGLang would refuse: a running production server may come from another
 * version than the help text. Those are `problems`.
 *
 * @throws UserError when no SGLang launch is found in the command.
 */
export function parseLaunchArgs(
  argv: readonly string[],
  help: HelpText,
  { version, programEnd }: ParseOptions = {},
): LaunchArgs {
  const program =
    programEnd === undefined ? findLaunchProgram(argv) : { end: programEnd, environmentWords: [] };
  if (program === undefined) throw noLaunch(argv);
  const flags: FlagOccurrence[] = [];
  const problems: ArgProblem[] = [];
  let at = program.end;
  while (at < argv.length) {
    const occurrence = readOccurrence(argv, at, help, version);
    if (occurrence === undefined) {
      problems.push({ code: 'stray-word', word: argv[at] ?? '' });
      at += 1;
      continue;
    }
    flags.push(occurrence);
    problems.push(...occurrenceProblems(occurrence));
    at = occurrence.end;
  }
  return {
    argv,
    programEnd: program.end,
    environmentWords: program.environmentWords,
    flags,
    problems: [...problems, ...repetitions(flags)],
  };
}

/** Value that counts for a flag: its last occurrence; undefined when the flag is absent. */
export function lastOccurrence(args: LaunchArgs, name: string): FlagOccurrence | undefined {
  return args.flags.findLast((occurrence) => occurrence.name === name);
}

/**
 * The command with another program in front of the same flags: production's flags on a simulated
 * server. Prefixes of the old program (`env`, `taskset`) go with it.
 *
 * @throws UserError when no SGLang launch is found in the command.
 */
export function replaceProgram(argv: readonly string[], program: readonly string[]): string[] {
  const found = findLaunchProgram(argv);
  if (found === undefined) throw noLaunch(argv);
  return [...program, ...argv.slice(found.end)];
}

function readOccurrence(
  argv: readonly string[],
  start: number,
  help: HelpText,
  version: string | undefined,
): FlagOccurrence | undefined {
  const word = argv[start] ?? '';
  const option = readOption(word, help, version);
  if (option === undefined) return undefined;
  const { lookup, spelled, joinedValue } = option;
  const flag = 'flag' in lookup ? lookup.flag : undefined;
  const limit = joinedValue === undefined ? valueLimit(flag) : 0;
  let end = start + 1;
  while (end < argv.length && end - start <= limit && !isOption(argv[end] ?? '', help)) end += 1;
  return {
    name: flag?.name ?? spelled.replace(/^-+/, ''),
    spelled,
    lookup,
    ...(flag === undefined ? {} : { flag }),
    start,
    end,
    values: joinedValue === undefined ? argv.slice(start + 1, end) : [joinedValue],
    joined: joinedValue !== undefined,
    negated: lookup.kind === 'known' && lookup.negated,
  };
}

/** Words a flag takes at most; a flag we do not know takes all that follow. */
function valueLimit(flag: FlagHelp | undefined): number {
  if (flag === undefined || flag.takes === 'many') return Number.POSITIVE_INFINITY;
  return flag.takes === 'nothing' ? 0 : 1;
}

interface Option {
  readonly lookup: FlagLookup;
  readonly spelled: string;
  readonly joinedValue?: string;
}

/** argparse's `_parse_optional`: is this word an option, and which? */
function readOption(word: string, help: HelpText, version?: string): Option | undefined {
  if (!word.startsWith('-') || word.length === 1 || word === '--') return undefined;
  if (isNegativeNumber(word)) return undefined;
  const equals = word.startsWith('--') ? word.indexOf('=') : -1;
  const spelled = equals < 0 ? word : word.slice(0, equals);
  // Single dashes belong to `-h` alone; argparse abbreviates long names only.
  const lookup = spelled.startsWith('--')
    ? lookupFlag(spelled.slice(2), help, version)
    : lookupShort(spelled, help);
  // With a blank in it, an unknown word with dashes is a value.
  if (lookup.kind === 'unknown' && word.includes(' ')) return undefined;
  return { lookup, spelled, ...(equals < 0 ? {} : { joinedValue: word.slice(equals + 1) }) };
}

function lookupShort(word: string, help: HelpText): FlagLookup {
  const flag = help.flags.find(
    ({ aliases }) => word.length === 2 && aliases.includes(word.slice(1)),
  );
  if (flag !== undefined) return { kind: 'known', flag, by: 'alias', negated: false };
  const nearest = nearestFlagName(word.slice(1), help);
  return { kind: 'unknown', ...(nearest === undefined ? {} : { nearest }) };
}

/** Whether a word ends the values of the flag before it. */
function isOption(word: string, help: HelpText): boolean {
  if (!word.startsWith('-') || word === '-' || isNegativeNumber(word)) return false;
  return !word.includes(' ') || readOption(word, help) !== undefined;
}

/** `--chunked-prefill-size -1`: argparse takes numbers as values, since no flag looks like one. */
function isNegativeNumber(word: string): boolean {
  return /^-\d+$|^-\d*\.\d+$/.test(word);
}

function occurrenceProblems(occurrence: FlagOccurrence): ArgProblem[] {
  const { spelled, lookup, flag } = occurrence;
  const named = nameProblem(spelled, lookup);
  return [
    ...(named === undefined ? [] : [named]),
    ...(flag === undefined ? [] : valueProblems(occurrence, flag)),
  ];
}

function nameProblem(spelled: string, lookup: FlagLookup): ArgProblem | undefined {
  switch (lookup.kind) {
    case 'known':
      return undefined;
    case 'hidden':
      return { code: 'hidden-flag', spelled, name: lookup.flag.name };
    case 'ambiguous':
      return { code: 'ambiguous-flag', spelled, candidates: lookup.candidates };
    case 'retired':
      return { code: 'retired-flag', spelled, replacement: lookup.replacement };
    case 'unknown':
      return {
        code: 'unknown-flag',
        spelled,
        ...(lookup.nearest === undefined ? {} : { nearest: lookup.nearest }),
      };
  }
}

function valueProblems({ spelled, values, joined }: FlagOccurrence, flag: FlagHelp): ArgProblem[] {
  if (flag.takes === 'nothing' && joined) return [{ code: 'unexpected-value', spelled }];
  if (values.length < flag.minimumValues) return [{ code: 'missing-value', spelled }];
  const found: ArgProblem[] = values.flatMap((value) => {
    const expected = wordProblem(flag, value);
    return expected === undefined ? [] : [{ code: 'bad-value', spelled, value, expected }];
  });
  const [file] = values;
  if (flag.name === 'config' && file !== undefined) found.push({ code: 'config-file', file });
  return found;
}

function repetitions(flags: readonly FlagOccurrence[]): ArgProblem[] {
  const names = flags.map(({ name }) => name);
  const repeated = new Set(names.filter((name, i) => names.indexOf(name) !== i));
  return [...repeated].map((name) => ({ code: 'repeated-flag', name }));
}

function noLaunch(argv: readonly string[]): UserError {
  const hints = {
    container: 'Give the command inside the container as target.command.',
    shell: 'Give the command that the shell runs as target.command, one word per item.',
    script: 'Give the command that the script ends in as target.command, one word per item.',
    other: 'nightsweep needs `python3 -m sglang.launch_server ...` or `sglang serve ...`.',
  };
  const shown = argv.slice(0, 4).join(' ');
  return new UserError(
    `no SGLang launch in the command "${shown}${argv.length > 4 ? ' ...' : ''}"`,
    {
      hint: hints[unknownProgram(argv)],
    },
  );
}
