/** One word of a unit value, with the characters it was written as. */
export interface UnitWord {
  /** Quotes and escapes resolved; `%` and `$` still as written. */
  readonly text: string;
  /** Span in the value, quotes included. */
  readonly start: number;
  readonly end: number;
  /** Positions in `text` that stood outside quotes and escapes. */
  readonly bare: ReadonlySet<number>;
}

export interface SplitWords {
  readonly words: readonly UnitWord[];
  /** Escapes that systemd does not know and keeps as they are, e.g. `\q`. */
  readonly unknownEscapes: readonly string[];
  /** A quote that is never closed: systemd ignores the whole line. */
  readonly unbalanced: boolean;
}

const BLANK = /[ \t\n\r]/;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
  s: ' ',
};

/**
 * Splits a value as systemd does (`extract_first_word` with EXTRACT_UNQUOTE | EXTRACT_CUNESCAPE,
 * systemd 252): blanks separate, single and double quotes group anywhere in a word, C escapes act
 * inside and outside of both; unknown escapes stay as written.
 */
export function splitUnitWords(value: string): SplitWords {
  const words: UnitWord[] = [];
  const unknownEscapes: string[] = [];
  let at = 0;
  for (;;) {
    while (at < value.length && BLANK.test(value[at] ?? '')) at += 1;
    if (at >= value.length) return { words, unknownEscapes, unbalanced: false };
    const read = readWord(value, at);
    if (read === undefined) return { words, unknownEscapes, unbalanced: true };
    words.push(read.word);
    unknownEscapes.push(...read.unknownEscapes);
    at = read.word.end;
  }
}

function readWord(
  value: string,
  start: number,
): { word: UnitWord; unknownEscapes: string[] } | undefined {
  const bare = new Set<number>();
  const unknownEscapes: string[] = [];
  let text = '';
  let quote = '';
  let at = start;
  while (at < value.length) {
    const char = value[at] ?? '';
    if (char === '\\') {
      const escape = readEscape(value, at);
      if (!escape.known) unknownEscapes.push(value.slice(at, at + escape.length));
      text += escape.text;
      at += escape.length;
    } else if (quote !== '') {
      if (char === quote) quote = '';
      else text += char;
      at += 1;
    } else if (char === '"' || char === "'") {
      quote = char;
      at += 1;
    } else if (BLANK.test(char)) break;
    else {
      bare.add(text.length);
      text += char;
      at += 1;
    }
  }
  if (quote !== '') return undefined;
  return { word: { text, start, end: at, bare }, unknownEscapes };
}

interface Escape {
  readonly text: string;
  /** Characters it takes, backslash included. */
  readonly length: number;
  readonly known: boolean;
}

function readEscape(value: string, at: number): Escape {
  const next = value[at + 1];
  if (next === undefined) return { text: '\\', length: 1, known: false };
  const simple = SIMPLE_ESCAPES[next];
  if (simple !== undefined) return { text: simple, length: 2, known: true };
  const numeric =
    /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/.exec(
      value.slice(at, at + 10),
    );
  const [whole = '', hex, short, long, octal] = numeric ?? [];
  const code =
    octal === undefined
      ? Number.parseInt(hex ?? short ?? long ?? '0', 16)
      : Number.parseInt(octal, 8);
  if (code > 0 && code <= 0x10ffff) {
    return { text: String.fromCodePoint(code), length: whole.length, known: true };
  }
  return { text: `\\${next}`, length: 2, known: false };
}
