import type { Argument, CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { DEFAULT_DATABASE } from './options.ts';

export interface Candidate {
  /** The whole word that it completes to. */
  readonly value: string;
  readonly about: string;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** The shell adds files with one of these endings; empty: any file; null: no files. */
  readonly files: readonly string[] | null;
}

/** What candidates are read from. */
export interface Sources {
  /** Studies of a database, empty when it cannot be read. */
  readonly studies: (
    database: string,
  ) => Promise<readonly { readonly name: string; readonly trials: readonly number[] }[]>;
  /** What `explain` knows. */
  readonly words: () => readonly string[];
  /** The choices of an option's or argument's parser; empty when it takes anything. */
  readonly choices: (parser: Option['parseArg']) => readonly string[];
}

const NOTHING: Completion = { candidates: [], files: null };
const ANY_FILE: Completion = { candidates: [], files: [] };
const STUDY_FILES: Completion = { candidates: [], files: ['yaml', 'yml'] };

/**
 * What the last word of a command line can become.
 *
 * @param words behind the program's name; the last one is unfinished, and may be empty.
 */
export async function completionOf(
  program: CommandUnknownOpts,
  words: readonly string[],
  sources: Sources,
): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const [name, ...before] = words.slice(0, -1);
  if (name === undefined) {
    const own = program.createHelp().visibleCommands(program);
    const commands = own.map((one) => ({ value: one.name(), about: one.summary() }));
    return startingWith(current, [...commands, ...optionNames(program, [])]);
  }
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined || before.includes('--')) return NOTHING;
  const line = { command, before, current, sources };
  const assigned = /^(--[^=]+)=/.exec(current);
  const option = optionOf(command, assigned?.[1] ?? before.at(-1));
  if (option !== undefined && takesValue(option)) {
    return await valuesOf(option, line, assigned === null ? '' : assigned[0]);
  }
  if (current.startsWith('-')) return startingWith(current, optionNames(command, before));
  const argument = argumentOf(command, before);
  return argument === undefined ? NOTHING : await valuesOf(argument, line, '');
}

interface Line {
  readonly command: CommandUnknownOpts;
  /** Complete words behind the command. */
  readonly before: readonly string[];
  readonly current: string;
  readonly sources: Sources;
}

/** @param prefix `--option=` of a value that is joined to its option. */
async function valuesOf(what: Option | Argument, line: Line, prefix: string): Promise<Completion> {
  const { command, current, sources } = line;
  const values = (all: readonly string[]) =>
    startingWith(
      current,
      all.map((value) => ({ value: `${prefix}${value}`, about: '' })),
    );
  const choices = sources.choices(what.parseArg);
  if (choices.length > 0) return values(choices);
  switch (kindOf(command, what)) {
    case 'study':
      return values((await studiesOf(line)).map(({ name }) => name));
    case 'study-and-trial': {
      const studies = await studiesOf(line);
      return values(
        studies.flatMap(({ name, trials }) =>
          current.startsWith(`${name}:`) ? trials.map((trial) => `${name}:${trial}`) : name,
        ),
      );
    }
    case 'word':
      return values(sources.words());
    case 'study-file':
      return STUDY_FILES;
    case 'file':
      return ANY_FILE;
    case 'other':
      return NOTHING;
  }
}

type ValueKind = 'study' | 'study-and-trial' | 'study-file' | 'word' | 'file' | 'other';

/** By the word between the brackets: `--db <file>`. */
const KINDS: Readonly<Record<string, ValueKind>> = {
  study: 'study-file',
  'study-file': 'study-file',
  a: 'study-and-trial',
  b: 'study-and-trial',
  word: 'word',
  file: 'file',
  folder: 'file',
  source: 'file',
};

function kindOf(command: CommandUnknownOpts, what: Option | Argument): ValueKind {
  if ('flags' in what) {
    if (what.long === '--study') return 'study';
    const [, word = ''] = /[<[]([\w-]+)/.exec(what.flags) ?? [];
    return KINDS[word] ?? 'other';
  }
  // `replay` takes a study of the database, every other command a study file.
  if (command.name() === 'replay') return 'study';
  return KINDS[what.name()] ?? 'other';
}

/** The database that the line names already, else the default one. */
function studiesOf({ before, sources }: Line) {
  const named = before[before.indexOf('--db') + 1];
  const joined = before.find((word) => word.startsWith('--db='))?.slice('--db='.length);
  return sources.studies(
    joined ?? (before.includes('--db') ? named : undefined) ?? DEFAULT_DATABASE,
  );
}

function startingWith(current: string, candidates: readonly Candidate[]): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), files: null };
}

/** Options that are not given yet. */
function optionNames(command: CommandUnknownOpts, before: readonly string[]): readonly Candidate[] {
  const given = new Set(before.map((word) => word.split('=')[0]));
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) =>
      long === undefined || given.has(long) ? [] : { value: long, about: description },
    );
}

function optionOf(command: CommandUnknownOpts, word: string | undefined): Option | undefined {
  if (word === undefined) return undefined;
  return command.options.find(({ long, short }) => word === long || word === short);
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

/** The argument that comes next; the last one again when it takes several. */
function argumentOf(command: CommandUnknownOpts, before: readonly string[]): Argument | undefined {
  const count = before.filter((word, i) => {
    const option = optionOf(command, before[i - 1]);
    return !word.startsWith('-') && (option === undefined || !takesValue(option));
  }).length;
  const all = command.registeredArguments;
  const last = all.at(-1);
  return all[count] ?? (last?.variadic === true ? last : undefined);
}
