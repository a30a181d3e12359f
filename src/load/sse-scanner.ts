const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const DATA = Buffer.from('data');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits a stream of server-sent events into the data of its events, whatever way the bytes were
 * cut on the way. Lines end in LF or CRLF (no server sends a lone CR); comments and other fields
 * are skipped; several data lines of one event are joined by LF; an event at the end of the stream
 * counts although its blank line is missing (field report E14).
 *
 * Works on bytes: a line is complete before anybody decodes it, so no multi-byte character is ever
 * cut. The data is a view of the received chunk wherever possible; the chunk must not be reused.
 */
export class SseScanner {
  readonly #onEvent: (data: Buffer) => void;
  /** Start of a line whose end has not arrived, in pieces: joined once, or long lines cost n^2. */
  #partial: Buffer[] = [];
  /** Data of the event under way; undefined before its first data line. */
  #data: Buffer | undefined;
  #atStart = true;

  constructor(onEvent: (data: Buffer) => void) {
    this.#onEvent = onEvent;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(LF, from);
      if (end === -1) break;
      if (this.#partial.length === 0 && !this.#atStart) this.#wholeLine(chunk, from, end);
      else this.#line(this.#complete(chunk.subarray(from, end)));
      from = end + 1;
    }
    if (from < chunk.length) this.#partial.push(chunk.subarray(from));
  }

  /** The common case without copies: an empty line, or a `data: ` line that is an event's first. */
  #wholeLine(chunk: Buffer, from: number, end: number): void {
    const to = chunk[end - 1] === CR && end > from ? end - 1 : end;
    if (to === from) this.#dispatch();
    else if (this.#data === undefined && startsData(chunk, from, to)) {
      const value = from + DATA.length + 1;
      this.#data = chunk.subarray(chunk[value] === SPACE && value < to ? value + 1 : value, to);
    } else this.#line(chunk.subarray(from, to));
  }

  /** Ends the stream: an unfinished last line and event count. */
  end(): void {
    if (this.#partial.length > 0) this.#line(this.#complete(Buffer.alloc(0)));
    this.#dispatch();
  }

  #complete(rest: Buffer): Buffer {
    if (this.#partial.length === 0) return rest;
    const line = Buffer.concat([...this.#partial, rest]);
    this.#partial = [];
    return line;
  }

  #line(raw: Buffer): void {
    let line = raw.at(-1) === CR ? raw.subarray(0, -1) : raw;
    if (this.#atStart) {
      this.#atStart = false;
      if (line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3);
    }
    if (line.length === 0) this.#dispatch();
    else if (isDataField(line)) this.#append(fieldValue(line));
  }

  #append(value: Buffer): void {
    this.#data =
      this.#data === undefined ? value : Buffer.concat([this.#data, Buffer.from('\n'), value]);
  }

  #dispatch(): void {
    const data = this.#data;
    this.#data = undefined;
    if (data !== undefined) this.#onEvent(data);
  }
}

/** `data:` between the two positions. Byte by byte: a call into native code costs more than this. */
function startsData(chunk: Buffer, from: number, to: number): boolean {
  return (
    to - from > DATA.length &&
    chunk[from] === DATA[0] &&
    chunk[from + 1] === DATA[1] &&
    chunk[from + 2] === DATA[2] &&
    chunk[from + 3] === DATA[3] &&
    chunk[from + 4] === COLON
  );
}

function isDataField(line: Buffer): boolean {
  if (line.length > DATA.length && line[DATA.length] !== COLON) return false;
  return DATA.compare(line, 0, DATA.length) === 0;
}

/** What follows `data:`, without the one space that may come first. */
function fieldValue(line: Buffer): Buffer {
  const from = DATA.length + 1;
  return line.subarray(line[from] === SPACE ? from + 1 : from);
}
