import type { TextEdit } from './text-edits.ts';
import type { PhysicalLine, UnitEntry, UnitText } from './unit-text.ts';

/** A word of an entry and what stands there afterwards; no `text`: it goes. */
export interface WordEdit {
  /** Span in the entry's value. */
  readonly start: number;
  readonly end: number;
  /** Undefined: the word stays; empty: it goes. */
  readonly text?: string;
}

/** A word with its place in the file. */
interface PlacedWord {
  readonly start: number;
  readonly end: number;
  /** Index of its physical line. */
  readonly line: number;
  readonly text: string | undefined;
}

/**
 * Edits of one entry that keep its layout: words are replaced in place, a word that goes takes the
 * blanks before it, a line that loses all its words goes with its line break, and what is appended
 * becomes a continuation line of its own, indented like the last one (or stays on a one-line entry).
 *
 * `words` are all words of the value, in order. An entry that loses all words goes as a whole.
 */
export function editEntry(
  file: UnitText,
  entry: UnitEntry,
  words: readonly WordEdit[],
  appended: readonly string[],
): TextEdit[] {
  const placed = words.map((word) => placeWord(file, entry, word));
  if (placed.every(({ text }) => text === '') && appended.length === 0) {
    return [removeLines(file, entry.firstLine, entry.lastLine)];
  }
  const gone = goneLines(file, entry, placed);
  const replaced = placed.flatMap(({ start, end, text }) =>
    text === undefined || text === '' ? [] : [{ start, end, text }],
  );
  return [
    ...replaced,
    ...removeWords(placed.filter(({ line }) => !gone.has(line))),
    ...[...gone].map((line) => removeLines(file, line, line)),
    ...endOfEntry(file, entry, gone, appended),
  ];
}

function placeWord(file: UnitText, entry: UnitEntry, { start, end, text }: WordEdit): PlacedWord {
  const from = entry.offsets[start] ?? 0;
  const to = (entry.offsets[end - 1] ?? from) + 1;
  const line = file.lines.findIndex((physical) => from >= physical.start && from < physical.next);
  return { start: from, end: to, line, text };
}

/** Lines, the first excepted, on which no word is left. A word over several lines keeps them. */
function goneLines(
  file: UnitText,
  entry: UnitEntry,
  words: readonly PlacedWord[],
): ReadonlySet<number> {
  const gone = new Set<number>();
  for (let line = entry.firstLine + 1; line <= entry.lastLine; line++) {
    const { start, end } = lineAt(file, line);
    const here = words.filter((word) => word.start < end && word.end > start);
    const contained = here.every((word) => word.start >= start && word.end <= end);
    if (here.length > 0 && contained && here.every(({ text }) => text === '')) gone.add(line);
  }
  return gone;
}

/** Removes runs of words together with the blanks that separated them from what stays on the line. */
function removeWords(words: readonly PlacedWord[]): TextEdit[] {
  const edits: TextEdit[] = [];
  for (let i = 0; i < words.length; i++) {
    const first = words[i];
    if (first?.text !== '') continue;
    let j = i;
    while (words[j + 1]?.text === '' && words[j + 1]?.line === first.line) j += 1;
    const last = words[j] ?? first;
    const before = words[i - 1];
    const after = words[j + 1];
    if (before?.line === first.line) edits.push({ start: before.end, end: last.end, text: '' });
    else if (after?.line === first.line) {
      edits.push({ start: first.start, end: after.start, text: '' });
    } else edits.push({ start: first.start, end: last.end, text: '' });
    i = j;
  }
  return edits;
}

/** Continuation marks at the new end, and the lines that are appended there. */
function endOfEntry(
  file: UnitText,
  entry: UnitEntry,
  gone: ReadonlySet<number>,
  appended: readonly string[],
): TextEdit[] {
  const content = contentLines(file, entry);
  const last = content.findLast((line) => !gone.has(line) && !isEmpty(file, line));
  if (last === undefined) return [];
  const { start, end, next } = lineAt(file, last);
  const text = file.text.slice(start, end);
  const mark = /\s*\\$/.exec(text)?.[0];
  // A line that is empty but for blanks ends the entry as it did before.
  const continues = content.some((line) => line > last && !gone.has(line));
  if (appended.length === 0) {
    const dangling = mark !== undefined && !continues && gone.size > 0;
    return dangling ? [{ start: end - mark.length, end, text: '' }] : [];
  }
  if (content.length === 1) return [{ start: end, end, text: ` ${appended.join(' ')}` }];
  const eol = file.text.slice(end, next) || '\n';
  const indent = indentation(file, content, entry);
  const lines = appended.join(` \\${eol}${indent}`);
  const tail = mark !== undefined && continues ? ' \\' : '';
  return [
    { start: end, end, text: `${mark === undefined ? ' \\' : ''}${eol}${indent}${lines}${tail}` },
  ];
}

function indentation(file: UnitText, content: readonly number[], entry: UnitEntry): string {
  const line = content.findLast((index) => index > entry.firstLine && !isEmpty(file, index));
  if (line === undefined) return '  ';
  const { start, end } = lineAt(file, line);
  return /^\s*/.exec(file.text.slice(start, end))?.[0] ?? '';
}

/** Lines of the entry that are no comments. */
function contentLines(file: UnitText, entry: UnitEntry): number[] {
  const lines: number[] = [];
  for (let line = entry.firstLine; line <= entry.lastLine; line++) {
    const { start, end } = lineAt(file, line);
    if (!/^\s*[#;]/.test(file.text.slice(start, end))) lines.push(line);
  }
  return lines;
}

function isEmpty(file: UnitText, line: number): boolean {
  const { start, end } = lineAt(file, line);
  return file.text.slice(start, end).trim() === '';
}

function removeLines(file: UnitText, first: number, last: number): TextEdit {
  return { start: lineAt(file, first).start, end: lineAt(file, last).next, text: '' };
}

function lineAt(file: UnitText, index: number): PhysicalLine {
  const line = file.lines[index];
  if (line === undefined) throw new Error(`${file.path} has no line ${index + 1}`);
  return line;
}
