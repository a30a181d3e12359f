/** One `Key=value` of a unit file, with the places its characters came from. */
export interface UnitEntry {
  readonly section: string;
  readonly key: string;
  /** Value as systemd sees it: continuation lines joined by a blank, blanks around dropped. */
  readonly value: string;
  /** Offset in the file of each character of `value`, and of its end. */
  readonly offsets: readonly number[];
  /** Physical lines, first and last (inclusive), as indexes into {@link UnitText.lines}. */
  readonly firstLine: number;
  readonly lastLine: number;
}

/** One physical line of a file. */
export interface PhysicalLine {
  readonly start: number;
  /** Offset of the line's end, its line break excluded. */
  readonly end: number;
  /** Offset of the next line. */
  readonly next: number;
}

/** A line of a unit file that systemd does not read as its author meant: no setting, or no continuation. */
export interface UnitTextWarning {
  readonly code: 'ignored-line' | 'blank-after-backslash';
  /** 1-based. */
  readonly line: number;
  readonly text: string;
}

/** A unit file or drop-in, taken apart without losing a byte. */
export interface UnitText {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly PhysicalLine[];
  readonly entries: readonly UnitEntry[];
  readonly warnings: readonly UnitTextWarning[];
}

/** A logical line in the making: its characters and where they stand in the file. */
interface LogicalLine {
  text: string;
  offsets: number[];
  firstLine: number;
  lastLine: number;
}

/**
 * Reads a unit file as systemd's parser does (`config_parse` in conf-parser.c, systemd 252): a
 * backslash at the very end of a line continues it, comment lines inside a continuation are
 * skipped, lines without `=` are ignored.
 */
export function parseUnitText(text: string, path: string): UnitText {
  const lines = physicalLines(text);
  const entries: UnitEntry[] = [];
  const warnings: UnitTextWarning[] = [];
  let section = '';
  for (const logical of logicalLines(text, lines)) {
    const content = logical.text.trim();
    if (content === '') continue;
    const header = /^\[(.*)\]$/.exec(content)?.[1];
    const equals = logical.text.indexOf('=');
    if (header !== undefined) section = header;
    else if (equals < 0 || section === '' || !/^\s*[A-Za-z][\w-]*\s*=/.test(logical.text)) {
      warnings.push({ code: 'ignored-line', line: logical.firstLine + 1, text: content });
    } else {
      entries.push(toEntry(logical, section, equals));
      const at = blankAfterBackslash(text, lines, logical);
      if (at !== undefined) {
        const line = lines[at];
        const shown = line === undefined ? '' : text.slice(line.start, line.end);
        warnings.push({ code: 'blank-after-backslash', line: at + 1, text: shown });
      }
    }
  }
  return { path, text, lines, entries, warnings };
}

function physicalLines(text: string): PhysicalLine[] {
  const lines: PhysicalLine[] = [];
  let start = 0;
  for (const { 0: lineBreak, index } of text.matchAll(/\r\n|\n|\r/g)) {
    lines.push({ start, end: index, next: index + lineBreak.length });
    start = index + lineBreak.length;
  }
  if (start < text.length) lines.push({ start, end: text.length, next: text.length });
  return lines;
}

function* logicalLines(text: string, lines: readonly PhysicalLine[]): Generator<LogicalLine> {
  let pending: LogicalLine | undefined;
  for (const [i, { start, end }] of lines.entries()) {
    const raw = text.slice(start, end);
    const content = raw.trimStart();
    if (content.startsWith('#') || content.startsWith(';')) continue;
    const offset = start + raw.length - content.length;
    pending ??= { text: '', offsets: [], firstLine: i, lastLine: i };
    pending.text += content;
    for (let k = 0; k < content.length; k++) pending.offsets.push(offset + k);
    pending.lastLine = i;
    if (endsEscaped(pending.text)) {
      pending.text = `${pending.text.slice(0, -1)} `;
      continue;
    }
    yield pending;
    pending = undefined;
  }
  if (pending !== undefined) yield pending;
}

function endsEscaped(text: string): boolean {
  return /(?:^|[^\\])(?:\\\\)*\\$/.test(text);
}

function toEntry(logical: LogicalLine, section: string, equals: number): UnitEntry {
  const raw = logical.text.slice(equals + 1);
  const lead = raw.length - raw.trimStart().length;
  const value = raw.trim();
  const first = equals + 1 + lead;
  const offsets = logical.offsets.slice(first, first + value.length);
  const last = offsets.at(-1);
  return {
    section,
    key: logical.text.slice(0, equals).trim(),
    value,
    offsets: [...offsets, last === undefined ? (logical.offsets[equals] ?? 0) + 1 : last + 1],
    firstLine: logical.firstLine,
    lastLine: logical.lastLine,
  };
}

/** Index of the line that ends in a backslash and blanks: meant as a continuation, but none (U18). */
function blankAfterBackslash(
  text: string,
  lines: readonly PhysicalLine[],
  { lastLine }: LogicalLine,
): number | undefined {
  const line = lines[lastLine];
  if (line === undefined) return undefined;
  return /\\[ \t]+$/.test(text.slice(line.start, line.end)) ? lastLine : undefined;
}
