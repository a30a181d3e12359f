const [LF, CR] = [10, 13];
/** What may stand behind the size of a chunk: a blank, an extension, the line's end. */
const SIZE_ENDS: ReadonlySet<number> = new Set([9, CR, 32, 59]);
/** A head larger than this is no answer of an inference server. */
const MAX_HEAD_BYTES = 64 * 1024;

/** What the start of an answer says. */
export interface ResponseHead {
  readonly status: number;
  /** Empty where there is none. */
  readonly contentType: string;
}

export interface ResponseEvents {
  onHead(head: ResponseHead): void;
  /** Body bytes `from`..`to`, valid during the call only. */
  onBody(bytes: Buffer, from: number, to: number): void;
  onEnd(): void;
}

/** What came is no HTTP/1.1. */
export class ProtocolError extends Error {
  readonly code = 'EPROTO';
}

type State =
  | 'head'
  | 'fixed'
  | 'until-close'
  | 'size'
  | 'chunk'
  | 'chunk-end'
  | 'trailers'
  | 'done';

/**
 * Reads one HTTP/1.1 response from bytes in any pieces: a body of known length, in chunks, or until
 * the connection closes. Only what an answer to a POST can be; no compression is ever asked for.
 *
 * @see RFC 9112, sections 4 to 7
 */
export class ResponseReader {
  readonly #events: ResponseEvents;
  #state: State = 'head';
  /** Bytes that are left of the body or the chunk. */
  #left = 0;
  /** Start of a line of the head or the trailers whose end has not arrived. */
  #line = '';
  #headBytes = 0;
  #status = 0;
  #headers = new Map<string, string>();
  /** True in a chunk size once its extension has begun. */
  #inExtension = false;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Whether the server will take another request on this connection. */
  get keepsAlive(): boolean {
    const isAsked = this.#headers.get('connection')?.toLowerCase() !== 'close';
    return isAsked && !this.#isOld && !this.#endsAtClose;
  }

  /** Seconds after which the server closes an idle connection; undefined where it does not say. */
  get idleSeconds(): number | undefined {
    const match = /timeout=(\d+)/.exec(this.#headers.get('keep-alive') ?? '');
    return match === null ? undefined : Number(match[1]);
  }

  #isOld = false;
  /** Its body had no other end than the connection's. */
  #endsAtClose = false;
  /** Digits of the chunk size read so far. */
  #digits = 0;

  /** Takes the next piece; returns how far it read: less than `to` only after the end. */
  push(bytes: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && this.#state !== 'done') {
      switch (this.#state) {
        case 'size':
          at = this.#readSize(bytes, at, to);
          break;
        case 'chunk':
        case 'fixed':
          at = this.#readBody(bytes, at, to);
          break;
        case 'chunk-end':
          if (bytes[at] === LF) this.#startSize();
          else if (bytes[at] !== CR) throw new ProtocolError('a chunk is longer than it said');
          at += 1;
          break;
        case 'until-close':
          this.#events.onBody(bytes, at, to);
          return to;
        default:
          at = this.#readLine(bytes, at, to);
      }
    }
    return at;
  }

  /** The connection closed; true when that is how this answer ends. */
  close(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#finish();
    return true;
  }

  #startSize(): void {
    this.#state = 'size';
    this.#left = 0;
    this.#digits = 0;
    this.#inExtension = false;
  }

  #readSize(bytes: Buffer, from: number, to: number): number {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === LF) {
        // Taken for 0, a broken stream would look like one that ended well.
        if (this.#digits === 0) throw new ProtocolError('a chunk has no size');
        this.#state = this.#left === 0 ? 'trailers' : 'chunk';
        return at + 1;
      }
      if (SIZE_ENDS.has(byte)) this.#inExtension = true;
      if (this.#inExtension) continue;
      this.#left = this.#left * 16 + hexDigit(byte);
      this.#digits += 1;
    }
    return to;
  }

  #readBody(bytes: Buffer, from: number, to: number): number {
    const end = Math.min(to, from + this.#left);
    this.#left -= end - from;
    this.#events.onBody(bytes, from, end);
    if (this.#left > 0) return end;
    if (this.#state === 'chunk') this.#state = 'chunk-end';
    else this.#finish();
    return end;
  }

  #readLine(bytes: Buffer, from: number, to: number): number {
    const found = bytes.indexOf(LF, from);
    const end = found === -1 || found >= to ? to : found;
    this.#headBytes += end - from;
    if (this.#headBytes > MAX_HEAD_BYTES)
      throw new ProtocolError('the head of the answer is endless');
    this.#line += bytes.toString('latin1', from, end);
    if (end === to) return to;
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    if (this.#state === 'head') this.#headLine(line);
    else if (line === '') this.#finish();
    return end + 1;
  }

  #headLine(line: string): void {
    if (this.#status === 0) {
      const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(line);
      if (match === null) throw new ProtocolError(`no HTTP/1.1 answer: ${line.slice(0, 40)}`);
      this.#isOld = match[1] === '0';
      this.#status = Number(match[2]);
      return;
    }
    if (line === '') {
      this.#headEnd();
      return;
    }
    const colon = line.indexOf(':');
    if (colon < 1) throw new ProtocolError(`no header: ${line.slice(0, 40)}`);
    this.#headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }

  #headEnd(): void {
    const status = this.#status;
    if (status < 200) {
      // 100 Continue and the like come before the answer.
      this.#status = 0;
      this.#headers.clear();
      return;
    }
    const length = this.#headers.get('content-length');
    const isChunked = /\bchunked$/i.test(this.#headers.get('transfer-encoding') ?? '');
    if (isChunked) this.#startSize();
    else if (length !== undefined) this.#startFixed(length);
    else {
      this.#state = 'until-close';
      this.#endsAtClose = true;
    }
    this.#events.onHead({ status, contentType: this.#headers.get('content-type') ?? '' });
    const isEmpty =
      status === 204 || status === 304 || (this.#state === 'fixed' && this.#left === 0);
    if (isEmpty) this.#finish();
  }

  #startFixed(length: string): void {
    if (!/^\d+$/.test(length)) throw new ProtocolError(`content-length: ${length.slice(0, 40)}`);
    this.#state = 'fixed';
    this.#left = Number(length);
  }

  #finish(): void {
    this.#state = 'done';
    this.#events.onEnd();
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 0x20;
  if (lower >= 97 && lower <= 102) return lower - 87;
  throw new ProtocolError('a chunk has no size');
}
