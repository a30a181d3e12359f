import { UserError } from '../errors.ts';
import { type Assignment, ENV_PREFIX } from '../search-space/assignment.ts';
import { variableText } from '../search-space/values.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';
import { editEntry, type WordEdit } from './edit-entry.ts';
import { lastEntry, listEntries } from './merge.ts';
import { quoteUnitWord } from './quoting.ts';
import type { PlacedEntry, Service } from './service.ts';
import type { TextEdit } from './text-edits.ts';
import { splitUnitWords } from './unit-words.ts';

/** New value of a variable; undefined: the process must not have it. */
export type VariableChanges = ReadonlyMap<string, string | undefined>;

/** Edits of one file. */
export interface FileEdits {
  readonly file: number;
  readonly edits: readonly TextEdit[];
}

/**
 * Variables that an assignment changes in what the unit sets; those that an `env NAME=...` in the
 * command sets are left out, since the command's words carry them.
 *
 * @throws UserError for a variable that an environment file sets (it would override the unit), or
 *   that `UnsetEnvironment=` takes away.
 */
export function variableChanges(service: Service, assignment: Assignment): VariableChanges {
  const inCommand = new Set(
    findLaunchProgram(service.argv)?.environmentWords.map(({ name }) => name) ?? [],
  );
  const changes = new Map<string, string | undefined>();
  for (const [parameter, value] of Object.entries(assignment)) {
    if (!parameter.startsWith(ENV_PREFIX)) continue;
    const name = parameter.slice(ENV_PREFIX.length);
    const wanted = variableText(value);
    if (inCommand.has(name) || service.environment[name] === wanted) continue;
    refuseForeignVariable(service, name);
    changes.set(name, wanted);
  }
  return changes;
}

/** Writes changed variables: in place where the unit sets them, else as a line of their own. */
export function environmentEdits(service: Service, changes: VariableChanges): FileEdits[] {
  if (changes.size === 0) return [];
  const entries = listEntries(service.files, 'Environment');
  const written = new Set<string>();
  const edits = [...entries].reverse().flatMap((placed) => {
    const edited = editAssignments(service, placed, changes, written);
    return edited === undefined ? [] : [edited];
  });
  const added = [...changes].filter(([name, value]) => value !== undefined && !written.has(name));
  const anchor = entries.at(-1) ?? service.command;
  return added.length === 0 ? edits : [...edits, addLines(service, anchor, added)];
}

/** Of several settings of a variable the last one is changed; when it must go, all of them go. */
function editAssignments(
  service: Service,
  { file, entry }: PlacedEntry,
  changes: VariableChanges,
  written: Set<string>,
): FileEdits | undefined {
  const source = service.files[file];
  const { words } = splitUnitWords(entry.value);
  const wordEdits = [...words].reverse().map(({ text, start, end }): WordEdit => {
    const name = text.split('=', 1)[0] ?? '';
    const value = changes.get(name);
    if (!changes.has(name) || written.has(name)) return { start, end };
    if (value === undefined) return { start, end, text: '' };
    written.add(name);
    const quote = entry.value[start];
    const preferred = quote === '"' || quote === "'" ? quote : undefined;
    return { start, end, text: quoteUnitWord(`${name}=${value}`, 'environment', preferred) };
  });
  const touched = wordEdits.some(({ text }) => text !== undefined);
  if (!touched || source === undefined) return undefined;
  return { file, edits: editEntry(source, entry, wordEdits.reverse(), []) };
}

function addLines(
  service: Service,
  { file, entry }: PlacedEntry,
  added: readonly (readonly [string, string | undefined])[],
): FileEdits {
  const source = service.files[file];
  const isCommand = entry.key === 'ExecStart';
  const line = source?.lines[isCommand ? entry.firstLine : entry.lastLine];
  if (source === undefined || line === undefined) throw new Error('no place for Environment=');
  const hasBreak = line.next > line.end;
  const eol = hasBreak ? source.text.slice(line.end, line.next) : '\n';
  const settings = added.map(([name, value]) => environmentLine(name, value ?? '')).join(eol);
  if (isCommand) {
    return { file, edits: [{ start: line.start, end: line.start, text: settings + eol }] };
  }
  // Behind the whole line: the line itself may be on its way out.
  const text = hasBreak ? settings + eol : eol + settings;
  return { file, edits: [{ start: line.next, end: line.next, text }] };
}

/** `Environment=NAME=value`, quoted so that the process gets exactly that. */
export function environmentLine(name: string, value: string): string {
  return `Environment=${quoteUnitWord(`${name}=${value}`, 'environment')}`;
}

function refuseForeignVariable(service: Service, name: string): void {
  const last = service.variables.findLast((variable) => variable.name === name);
  if (last?.from.kind === 'file') {
    throw new UserError(
      `env.${name} is set by EnvironmentFile=${last.from.path}, which overrides Environment= of the unit`,
      { hint: `Take ${name} out of that file and into the unit before the sweep.` },
    );
  }
  const unset = service.unset.some((word) => word.split('=', 1)[0] === name);
  if (unset && lastEntry(service.files, 'UnsetEnvironment') !== undefined) {
    throw new UserError(`env.${name} is taken away by UnsetEnvironment= of the unit`, {
      hint: `Remove ${name} from UnsetEnvironment= before the sweep.`,
    });
  }
}
