import { UserError } from '../errors.ts';
import { listEntries } from './merge.ts';
import type { CommandWord, PlacedEntry, ServiceCommand, ServiceWarning } from './service.ts';
import { refuseShellSyntax } from './shell-syntax.ts';
import { expandSpecifiers, type Specifiers } from './specifiers.ts';
import type { UnitText } from './unit-text.ts';
import { splitUnitWords, type UnitWord } from './unit-words.ts';

export interface ReadCommand {
  readonly command: ServiceCommand;
  readonly argv: readonly string[];
  readonly warnings: readonly ServiceWarning[];
}

/**
 * The command of `ExecStart=` with the words the process gets.
 *
 * @throws UserError when there is none or more than one, when systemd would ignore the line, or
 *   when it is written in shell syntax.
 */
export function readCommand(
  files: readonly UnitText[],
  specifiers: Specifiers,
  environment: Readonly<Record<string, string>>,
): ReadCommand {
  const placed = onlyCommand(files);
  const where = `${files[placed.file]?.path ?? ''}:${placed.entry.firstLine + 1}`;
  const { words, unknownEscapes, unbalanced } = splitUnitWords(placed.entry.value);
  const [first, ...rest] = words;
  if (unbalanced || first === undefined) {
    throw new UserError(
      `${where}: ExecStart has a quote that is not closed; systemd ignores the line`,
    );
  }
  const { prefix, program } = splitPrefix(first);
  const [argumentZero, ...others] = prefix.includes('@') ? rest : [undefined, ...rest];
  refuseShellSyntax(where, [program, ...others.filter((word) => word !== undefined)], {
    expandsVariables: !prefix.includes(':'),
  });
  const warnings: ServiceWarning[] = unknownEscapes.map((text) => ({
    code: 'unknown-escape',
    path: files[placed.file]?.path ?? '',
    line: placed.entry.firstLine + 1,
    text,
  }));
  const variables = prefix.includes(':') ? undefined : environment;
  const commandWords = [
    { word: program, expanded: [resolve(program.text, specifiers, where)] },
    ...others
      .filter((word) => word !== undefined)
      .map((word) => expandWord(word, specifiers, variables, where, warnings)),
  ];
  return {
    command: {
      ...placed,
      prefix,
      words: commandWords,
      ...(argumentZero === undefined ? {} : { argumentZero }),
    },
    argv: commandWords.flatMap(({ expanded }) => expanded),
    warnings,
  };
}

function onlyCommand(files: readonly UnitText[]): PlacedEntry {
  const commands = listEntries(files, 'ExecStart');
  const [first, second] = commands;
  if (first === undefined) throw noCommand(files);
  if (second === undefined) return first;
  const at = commands.map(({ file, entry }) => `${files[file]?.path ?? ''}:${entry.firstLine + 1}`);
  throw new UserError(`the service has ${commands.length} ExecStart lines (${at.join(', ')})`, {
    hint: 'systemd refuses that for a server. A drop-in that replaces the command needs an empty ExecStart= line first.',
  });
}

function noCommand(files: readonly UnitText[]): UserError {
  const path = files[0]?.path ?? 'the unit';
  const sections = new Set(files.flatMap(({ entries }) => entries.map(({ section }) => section)));
  if (sections.has('Container')) {
    return new UserError(`${path} is a Podman quadlet: it has no ExecStart to change`, {
      hint: 'nightsweep tunes a service that starts SGLang itself; give its command as target.command.',
    });
  }
  return new UserError(`${path} has no ExecStart in [Service]`, {
    hint: `Found ${sections.size === 0 ? 'no settings' : `sections ${[...sections].join(', ')}`}.`,
  });
}

function splitPrefix(first: UnitWord): { prefix: string; program: UnitWord } {
  const prefix = /^[-@:+!|]*/.exec(first.text)?.[0] ?? '';
  const bare = new Set([...first.bare].map((at) => at - prefix.length));
  const program = { ...first, text: first.text.slice(prefix.length), bare };
  return { prefix, program };
}

function expandWord(
  word: UnitWord,
  specifiers: Specifiers,
  environment: Readonly<Record<string, string>> | undefined,
  where: string,
  warnings: ServiceWarning[],
): CommandWord {
  // Only as these two bare characters: quoted, or with an escaped backslash, it is itself.
  const isSemicolon = word.text === '\\;' && word.end - word.start === 2;
  const text = isSemicolon ? ';' : resolve(word.text, specifiers, where);
  if (environment === undefined) return { word, expanded: [text] };
  const unbraced = /^\$([^{$].*)$/s.exec(text)?.[1];
  if (unbraced !== undefined) {
    const value = environment[unbraced];
    if (value === undefined) warnings.push({ code: 'unset-variable', name: unbraced });
    return { word, expanded: splitPlain(value ?? ''), variable: unbraced };
  }
  return { word, expanded: [expandBraced(text, environment, warnings)] };
}

/** `${NAME}` anywhere in a word, `$$` for a dollar; `$NAME` inside a word stays as it is. */
function expandBraced(
  text: string,
  environment: Readonly<Record<string, string>>,
  warnings: ServiceWarning[],
): string {
  return text.replace(/\$\$|\$\{([^}]*)\}/g, (whole, name?: string) => {
    if (name === undefined) return '$';
    const value = environment[name];
    if (value === undefined) warnings.push({ code: 'unset-variable', name });
    else if (whole === text && /\s--?\w/.test(` ${value}`) && /\s/.test(value.trim())) {
      warnings.push({ code: 'one-word-variable', name });
    }
    return value ?? '';
  });
}

/** The value of an unbraced variable: split at blanks, quotes taken away, no escapes. */
function splitPlain(value: string): string[] {
  return [...value.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replace(
      /"([^"]*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? '',
    ),
  );
}

function resolve(text: string, specifiers: Specifiers, where: string): string {
  const { text: expanded, unresolved } = expandSpecifiers(text, specifiers);
  if (unresolved.length > 0) {
    throw new UserError(
      `${where}: ${unresolved.join(', ')} depends on the machine and is not known here`,
      {
        hint: 'Write the value itself, or read the unit from the target.',
      },
    );
  }
  return expanded;
}
