import type { Assignment } from '../search-space/assignment.ts';
import type { HelpText } from '../sglang/help.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';
import { flagGroups } from './command-edits.ts';
import { type EmitOptions, emitUnit } from './emit-unit.ts';
import { environmentLine, type VariableChanges, variableChanges } from './environment-edits.ts';
import { quoteUnitWord } from './quoting.ts';
import type { Service } from './service.ts';

/** What a drop-in sets; every word as the process shall get it. */
export interface DropIn {
  /** Program first. */
  readonly argv: readonly string[];
  /** `-`, `:`, `+`, `!` of the production command. */
  readonly prefix?: string;
  readonly environment?: VariableChanges;
  /** Further lines of [Service], as they shall stand: `Restart=no`. */
  readonly settings?: readonly string[];
}

/**
 * Text of a drop-in that replaces the command: `ExecStart=` is reset first, one flag per line,
 * every word quoted so that the process receives exactly it; variables are set or unset.
 *
 * @throws UserError for a word that no unit file can hold.
 */
export function renderDropIn({ argv, prefix = '', environment, settings = [] }: DropIn): string {
  const place = prefix.includes(':') ? 'command-without-variables' : 'command';
  const words = argv.map((word) => quoteUnitWord(word, place));
  return dropInText(prefix, words, findLaunchProgram(argv)?.end ?? 1, environment, settings);
}

/**
 * Drop-in that puts an assignment into force over the production unit. Words that the assignment
 * leaves alone stand as they do in the unit, variables (`${KEY}`) unexpanded: no secret of an
 * environment file gets into the drop-in.
 *
 * @throws UserError as {@link emitUnit}.
 */
export function emitDropIn(
  service: Service,
  assignment: Assignment,
  help: HelpText,
  options: EmitOptions,
): string {
  const emitted = emitUnit(service, assignment, help, options).service;
  const { command } = emitted;
  const raw = command.words.map(({ word }) => command.entry.value.slice(word.start, word.end));
  if (command.argumentZero !== undefined) {
    raw.splice(
      1,
      0,
      command.entry.value.slice(command.argumentZero.start, command.argumentZero.end),
    );
  }
  const programWords = findLaunchProgram(emitted.argv)?.end ?? 1;
  const extra = command.argumentZero === undefined ? 0 : 1;
  return dropInText('', raw, programWords + extra, variableChanges(service, assignment), []);
}

function dropInText(
  prefix: string,
  words: readonly string[],
  programWords: number,
  environment: VariableChanges | undefined,
  settings: readonly string[],
): string {
  const program = words.slice(0, programWords).join(' ');
  const flags = flagGroups(words.slice(programWords)).map((group) => group.join(' '));
  const variables = [...(environment ?? [])];
  const set = variables.flatMap(([name, value]) =>
    value === undefined ? [] : [environmentLine(name, value)],
  );
  const unset = variables.filter(([, value]) => value === undefined).map(([name]) => name);
  return [
    '[Service]',
    ...settings,
    ...set,
    ...(unset.length === 0 ? [] : [`UnsetEnvironment=${unset.join(' ')}`]),
    'ExecStart=',
    `ExecStart=${[prefix + program, ...flags].join(' \\\n  ')}`,
    '',
  ].join('\n');
}
