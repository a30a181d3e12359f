import { UserError } from '../errors.ts';
import type { ArgvEdit } from '../sglang/apply-assignment.ts';
import { editEntry, type WordEdit } from './edit-entry.ts';
import { quoteUnitWord } from './quoting.ts';
import type { CommandWord, Service } from './service.ts';
import type { TextEdit } from './text-edits.ts';

export interface CommandEdits {
  readonly edits: readonly TextEdit[];
  /** Variables (`$ARGS`) whose words now stand in ExecStart itself, since one of them changed. */
  readonly inlined: readonly string[];
}

/**
 * Changes of the command's words as changes of the text of its `ExecStart=`. Only words that differ
 * are touched; a variable is replaced by its words only when one of them changes.
 *
 * @throws UserError when the command ends in a backslash and a blank: what follows would be glued to it.
 */
export function commandEdits(service: Service, argvEdits: readonly ArgvEdit[]): CommandEdits {
  const { command, files } = service;
  const file = files[command.file];
  if (file === undefined || argvEdits.length === 0) return { edits: [], inlined: [] };
  const trap = file.warnings.find(
    ({ code, line }) => code === 'blank-after-backslash' && line === command.entry.lastLine + 1,
  );
  if (trap !== undefined) {
    throw new UserError(
      `${file.path}:${trap.line}: the backslash is followed by a blank, so the command ends here and the lines below are ignored`,
      {
        hint: 'Remove the blank (or the backslash) first: production runs without those flags now.',
      },
    );
  }
  const { words, appended } = distribute(service.argv, argvEdits);
  const place = command.prefix.includes(':') ? 'command-without-variables' : 'command';
  const inlined: string[] = [];
  const wordEdits: WordEdit[] = [];
  if (command.argumentZero !== undefined) wordEdits.push(command.argumentZero);
  let at = 0;
  for (const slot of command.words) {
    const wanted = words.slice(at, at + slot.expanded.length).flat();
    at += slot.expanded.length;
    if (isSame(slot, wanted)) {
      wordEdits.push({ start: slot.word.start, end: slot.word.end });
      continue;
    }
    if (slot.variable !== undefined && wanted.length > 1) inlined.push(slot.variable);
    const quote = ownQuote(command.entry.value.slice(slot.word.start, slot.word.end));
    const text = wanted.map((word) => quoteUnitWord(word, place, quote)).join(' ');
    wordEdits.push({ start: slot.word.start, end: slot.word.end, text });
  }
  wordEdits.sort((a, b) => a.start - b.start);
  const groups = flagGroups(appended).map((group) =>
    group.map((word) => quoteUnitWord(word, place)).join(' '),
  );
  const edits = editEntry(
    file,
    command.entry,
    wordEdits.map(({ start, end, text }) => ({
      start,
      end,
      ...(text === undefined ? {} : { text }),
    })),
    groups,
  );
  return { edits, inlined };
}

/** For each word of the argv what replaces it (itself, nothing, one or more), and what comes behind. */
function distribute(
  argv: readonly string[],
  edits: readonly ArgvEdit[],
): { words: string[][]; appended: string[] } {
  const words = argv.map((word) => [word]);
  const appended: string[] = [];
  for (const { start, end, words: wanted } of edits) {
    if (start === end) {
      if (start === argv.length) appended.push(...wanted);
      else words[start - 1]?.push(...wanted);
      continue;
    }
    for (let i = start; i < end; i++) {
      const isLast = i === end - 1;
      words[i] = isLast ? wanted.slice(i - start) : wanted.slice(i - start, i - start + 1);
    }
  }
  return { words, appended };
}

function isSame(slot: CommandWord, wanted: readonly string[]): boolean {
  return (
    wanted.length === slot.expanded.length && slot.expanded.every((word, i) => word === wanted[i])
  );
}

/** The quote a word was written in as a whole, to write its new value likewise. */
function ownQuote(raw: string): '"' | "'" | undefined {
  const [quote] = raw;
  if ((quote !== '"' && quote !== "'") || raw.length < 2 || !raw.endsWith(quote)) return undefined;
  return raw.indexOf(quote, 1) === raw.length - 1 ? quote : undefined;
}

/** A flag with its values, for one line each. */
export function flagGroups(words: readonly string[]): string[][] {
  const groups: string[][] = [];
  for (const word of words) {
    const current = groups.at(-1);
    if (current === undefined || word.startsWith('--')) groups.push([word]);
    else current.push(word);
  }
  return groups;
}
