import { UserError } from '../errors.ts';
import { type Assignment, ENV_PREFIX, type FlagValue } from '../search-space/assignment.ts';
import { requireFlag } from './flag-names.ts';
import { valueProblem, valueWords } from './flag-values.ts';
import type { FlagHelp, HelpText } from './help.ts';
import {
  type FlagOccurrence,
  type LaunchArgs,
  type ParseOptions,
  parseLaunchArgs,
} from './launch-args.ts';

/** Words `start` (inclusive) to `end` (exclusive) of the original argv become `words`. */
export interface ArgvEdit {
  readonly start: number;
  readonly end: number;
  readonly words: readonly string[];
}

export interface AppliedAssignment {
  readonly argv: readonly string[];
  /** Ascending, not overlapping. An insertion has `start` equal to `end`. */
  readonly edits: readonly ArgvEdit[];
}

/**
 * Puts the values of an assignment into a launch command: `null` and `false` take a flag away,
 * `true` is the bare flag, a list the values of a many-valued flag, anything else one word.
 *
 * Words of other flags stay as they are, also those that already say the same value. A swept flag
 * stands once afterwards, under its canonical name where it was changed, whatever aliases,
 * abbreviations or repetitions the command had. New flags go to the end. For a flag with an off
 * form (`--no-x`), `false` is that form. `env.NAME` parameters change the word of an `env NAME=...` in the command
 * if there is one, and are otherwise left to the caller.
 *
 * @throws UserError for a flag that the version does not have, or a value that it refuses.
 */
export function applyAssignment(
  argv: readonly string[],
  assignment: Assignment,
  help: HelpText,
  options: ParseOptions = {},
): AppliedAssignment {
  const args = parseLaunchArgs(argv, help, options);
  const edits: ArgvEdit[] = [];
  const appended: string[] = [];
  const seen = new Map<string, string>();
  for (const [parameter, value] of Object.entries(assignment)) {
    if (parameter.startsWith(ENV_PREFIX)) {
      edits.push(...environmentEdits(args, parameter.slice(ENV_PREFIX.length), value));
      continue;
    }
    const flag = requireFlag(parameter, help, options.version);
    const other = seen.get(flag.name);
    if (other !== undefined) {
      throw new UserError(`"${other}" and "${parameter}" are the same flag, --${flag.name}`, {
        hint: 'Keep one of them.',
      });
    }
    seen.set(flag.name, parameter);
    const change = flagEdits(args, flag, value);
    edits.push(...change.edits);
    appended.push(...change.appended);
  }
  if (appended.length > 0) {
    const end = args.argv.indexOf('--', args.programEnd);
    const at = end < 0 ? argv.length : end;
    edits.push({ start: at, end: at, words: appended });
  }
  edits.sort((a, b) => a.start - b.start || a.end - b.end);
  return { argv: editWords(argv, edits), edits };
}

/** Applies ascending, non-overlapping edits. */
export function editWords(argv: readonly string[], edits: readonly ArgvEdit[]): string[] {
  const result: string[] = [];
  let at = 0;
  for (const { start, end, words } of edits) {
    result.push(...argv.slice(at, start), ...words);
    at = end;
  }
  return [...result, ...argv.slice(at)];
}

interface FlagChange {
  readonly edits: readonly ArgvEdit[];
  readonly appended: readonly string[];
}

function flagEdits(args: LaunchArgs, flag: FlagHelp, value: FlagValue): FlagChange {
  const wanted = flagWords(flag, value);
  const present = args.flags.filter(({ name }) => name === flag.name);
  const last = present.at(-1);
  if (last === undefined) return { edits: [], appended: wanted };
  const removed = present.slice(0, -1).map(({ start, end }) => ({ start, end, words: [] }));
  if (says(last, flag, value)) return { edits: removed, appended: [] };
  return {
    edits: [...removed, { start: last.start, end: last.end, words: keepJoined(last, wanted) }],
    appended: [],
  };
}

/** The words of a flag with a value; none when it is absent. */
function flagWords(flag: FlagHelp, value: FlagValue): string[] {
  const problem = valueProblem(flag, value);
  if (problem !== undefined) {
    throw new UserError(`--${flag.name}: ${JSON.stringify(value)} is refused: it ${problem}`);
  }
  if (value === false && flag.negation !== undefined) return [`--${flag.negation}`];
  const words = valueWords(value);
  if (words === undefined) return [];
  const spelled = `--${flag.name}`;
  const dashed = words.find((word) => word.startsWith('-') && !/^-(\d+|\d*\.\d+)$/.test(word));
  if (dashed === undefined) return [spelled, ...words];
  if (words.length === 1) return [`${spelled}=${dashed}`];
  throw new UserError(`${spelled}: SGLang would take the value "${dashed}" for a flag`);
}

/** `--flag=value` stays one word. */
function keepJoined(last: FlagOccurrence, wanted: readonly string[]): readonly string[] {
  const [spelled, value] = wanted;
  if (!last.joined || wanted.length !== 2 || spelled === undefined || value === undefined) {
    return wanted;
  }
  return [`${spelled}=${value}`];
}

/** Whether an occurrence already has the value, comparing numbers as numbers. */
function says(occurrence: FlagOccurrence, flag: FlagHelp, value: FlagValue): boolean {
  if (value === false && flag.negation !== undefined) return occurrence.negated;
  const words = valueWords(value);
  if (words === undefined || occurrence.negated) return false;
  const { values } = occurrence;
  return (
    words.length === values.length && words.every((word, i) => sameWord(flag, word, values[i]))
  );
}

function sameWord(flag: FlagHelp, a: string, b: string | undefined): boolean {
  if (a === b) return true;
  const numeric = flag.type === 'integer' || flag.type === 'number';
  return numeric && b !== undefined && b.trim() !== '' && Number(a) === Number(b);
}

function environmentEdits(args: LaunchArgs, name: string, value: FlagValue): ArgvEdit[] {
  const words = valueWords(value);
  return args.environmentWords
    .filter((word) => word.name === name && word.value !== words?.[0])
    .map(({ index }) => ({
      start: index,
      end: index + 1,
      words: words === undefined ? [] : [`${name}=${words[0] ?? ''}`],
    }));
}
