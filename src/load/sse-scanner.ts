const [LF, CR, COLON, SPACE] = [10, 13, 58, 32];
const DATA = Buffer.from('data');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Takes the data of an event: bytes `from` up to `to` of `bytes`, valid during the call only. */
export type OnEvent = (bytes: Buffer, from: number, to: number) => void;

/**
 * Splits a stream of server-sent events into the data of its events, whatever way the bytes were
 * cut on the way. Lines end in LF or CRLF (no server sends a lone CR); comments and other fields
 * are skipped; several data lines of one event are joined by LF; an event at the end of the stream
 * counts although its blank line is missing (field report E14).
 *
 * Works on bytes: a line is complete before anybody decodes it, so no multi-byte character is ever
 * cut. A whole event is handed on where it lies, without a copy or a view: at 100,000 events a
 * second those are what the garbage collector works on. What is left at the end of a piece is
 * copied, so its memory may be used again.
 */
export class SseScanner {
  readonly #onEvent: OnEvent;
  /** Start of a line whose end has not arrived: its bytes are the first `#partialLength`. */
  #partial = Buffer.alloc(0);
  #partialLength = 0;
  /** Data of an event whose blank line has not arrived; undefined before its first data line. */
  #data: Buffer | undefined;
  #atStart = true;

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  push(bytes: Buffer, from = 0, to = bytes.length): void {
    let at = this.#partialLength > 0 || this.#atStart ? this.#finishLine(bytes, from, to) : from;
    while (at < to) {
      const end = bytes.indexOf(LF, at);
      if (end === -1 || end >= to) break;
      at = this.#wholeLine(bytes, at, end, to);
    }
    if (at < to) this.#keep(bytes, at, to);
  }

  /** Ends the stream: an unfinished last line and event count. */
  end(): void {
    if (this.#partialLength > 0) this.#kept();
    this.#dispatch();
  }

  /** Completes the line that an earlier piece began; returns where the next one starts. */
  #finishLine(bytes: Buffer, from: number, to: number): number {
    const end = bytes.indexOf(LF, from);
    if (end === -1 || end >= to) return from;
    this.#keep(bytes, from, end);
    this.#kept();
    return end + 1;
  }

  /** Adds to the unfinished line. The room doubles, or a long line in small pieces costs n^2. */
  #keep(bytes: Buffer, from: number, to: number): void {
    const length = this.#partialLength + to - from;
    if (length > this.#partial.length) {
      const larger = Buffer.allocUnsafe(Math.max(256, 2 * length));
      this.#partial.copy(larger, 0, 0, this.#partialLength);
      this.#partial = larger;
    }
    bytes.copy(this.#partial, this.#partialLength, from, to);
    this.#partialLength = length;
  }

  /** Reads the kept line, which is complete now. */
  #kept(): void {
    const to = this.#partialLength;
    this.#partialLength = 0;
    const mayHaveMark = this.#atStart && to >= BYTE_ORDER_MARK.length;
    const hasMark = mayHaveMark && BYTE_ORDER_MARK.compare(this.#partial, 0, 3) === 0;
    this.#atStart = false;
    this.#line(this.#partial, hasMark ? 3 : 0, to);
  }

  /** Reads the line that ends at `end`; returns where the next one starts. */
  #wholeLine(bytes: Buffer, from: number, end: number, to: number): number {
    const next = end + 1;
    const isWhole = this.#data === undefined && next < to && bytes[next] === LF;
    if (isWhole && startsData(bytes, from, end) && bytes[end - 1] !== CR) {
      this.#onEvent(bytes, valueOf(bytes, from, end), end);
      return next + 1;
    }
    this.#line(bytes, from, end);
    return next;
  }

  /** Reads a line, its LF already left out. */
  #line(bytes: Buffer, from: number, end: number): void {
    const to = end > from && bytes[end - 1] === CR ? end - 1 : end;
    if (to === from) this.#dispatch();
    else if (startsData(bytes, from, to)) this.#append(bytes, valueOf(bytes, from, to), to);
    else if (to - from === DATA.length && DATA.compare(bytes, from, to) === 0) {
      this.#append(bytes, to, to);
    }
  }

  #append(bytes: Buffer, from: number, to: number): void {
    const value = Buffer.from(bytes.subarray(from, to));
    this.#data =
      this.#data === undefined ? value : Buffer.concat([this.#data, Buffer.from('\n'), value]);
  }

  #dispatch(): void {
    const data = this.#data;
    this.#data = undefined;
    if (data !== undefined) this.#onEvent(data, 0, data.length);
  }
}

/** `data:` at `from`. Byte by byte: a call into native code costs more than this. */
function startsData(bytes: Buffer, from: number, to: number): boolean {
  return (
    to - from > DATA.length &&
    bytes[from] === DATA[0] &&
    bytes[from + 1] === DATA[1] &&
    bytes[from + 2] === DATA[2] &&
    bytes[from + 3] === DATA[3] &&
    bytes[from + 4] === COLON
  );
}

/** Where the value of a `data:` line starts: after the one space that may come first. */
function valueOf(bytes: Buffer, from: number, to: number): number {
  const value = from + DATA.length + 1;
  return value < to && bytes[value] === SPACE ? value + 1 : value;
}
