import { type FileHandle, open } from 'node:fs/promises';
import { redactText } from '../sglang/redact.ts';

/** Sizes of a log file: the first and the last part are kept, the middle is left out. */
export interface LogCap {
  readonly headBytes: number;
  readonly tailBytes: number;
}

/** A night of 40 launches stays below a gigabyte even when every server prints without end. */
export const DEFAULT_LOG_CAP: LogCap = { headBytes: 16 * 1024 * 1024, tailBytes: 4 * 1024 * 1024 };

/** Text waiting for a slow disk; beyond it the server's output is counted and dropped. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** A line without an end is written after this much: it is then no line but binary output. */
const MAX_LINE_BYTES = 64 * 1024;

/**
 * Writes a server's output to a file that never grows beyond head and tail, without secrets.
 *
 * `write` never waits and never fails: a full or hanging disk costs log lines, not the server.
 * The head goes to disk as it comes; the tail stays in memory until `close`.
 */
export class CappedLog {
  readonly #file: FileHandle;
  readonly #secrets: readonly string[];
  #line: Buffer = Buffer.alloc(0);
  #headRoom: number;
  readonly #tail: ByteTail;
  #omittedBytes = 0;
  #waitingBytes = 0;
  #writing: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  private constructor(file: FileHandle, cap: LogCap, secrets: readonly string[]) {
    this.#file = file;
    this.#secrets = secrets;
    this.#headRoom = cap.headBytes;
    this.#tail = new ByteTail(cap.tailBytes);
  }

  /** Opens a new log, replacing an earlier one. Rejects when the file cannot be made. */
  static async open(path: string, cap: LogCap, secrets: readonly string[]): Promise<CappedLog> {
    return new CappedLog(await open(path, 'w', 0o640), cap, secrets);
  }

  /** What went wrong with the file, if anything; shown with the launch. */
  get problem(): string | undefined {
    return this.#problem;
  }

  write(chunk: Buffer): void {
    if (this.#headRoom <= 0) {
      this.#omittedBytes += this.#tail.add(chunk);
      return;
    }
    const text = Buffer.concat([this.#line, chunk]);
    const end = Math.max(text.lastIndexOf(0x0a), text.lastIndexOf(0x0d)) + 1;
    const cut = text.length - end > MAX_LINE_BYTES ? text.length : end;
    this.#line = text.subarray(cut);
    if (cut === 0) return;
    this.#headRoom -= cut;
    this.#append(text.subarray(0, cut));
    if (this.#headRoom <= 0) {
      this.#omittedBytes += this.#tail.add(this.#line);
      this.#line = Buffer.alloc(0);
    }
  }

  /** Writes what is still held back and closes the file. */
  async close(): Promise<void> {
    const tail = this.#tail.bytes();
    if (this.#omittedBytes > 0) {
      this.#append(Buffer.from(`\n[nightsweep: ${this.#omittedBytes} bytes left out here]\n`));
    }
    // A tail may be larger than what may wait for the disk, so the disk comes first.
    await this.#writing;
    this.#append(tail.length > 0 ? tail : this.#line);
    await this.#writing;
    await this.#file.close().catch(() => undefined);
  }

  #append(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#problem ??= 'the disk was too slow: part of the log is missing';
      return;
    }
    this.#waitingBytes += bytes.length;
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#file.appendFile(this.#redact(bytes));
      } catch (error) {
        this.#problem ??= error instanceof Error ? error.message : String(error);
      }
      this.#waitingBytes -= bytes.length;
    });
  }

  /** Bytes that are not UTF-8 pass unchanged, as Latin-1 characters. */
  #redact(bytes: Buffer): Buffer {
    const secrets = this.#secrets.map((secret) => Buffer.from(secret).toString('latin1'));
    return Buffer.from(redactText(bytes.toString('latin1'), secrets), 'latin1');
  }
}

/** The last bytes of a stream, up to a limit. */
export class ByteTail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Adds bytes and returns how many older ones fell out. */
  add(chunk: Buffer): number {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    let dropped = 0;
    while (this.#length > this.#limit) {
      const first = this.#chunks[0];
      if (first === undefined) break;
      const cut = Math.min(first.length, this.#length - this.#limit);
      if (cut === first.length) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(cut);
      this.#length -= cut;
      dropped += cut;
    }
    return dropped;
  }

  bytes(): Buffer {
    const all = Buffer.concat(this.#chunks);
    this.#chunks = all.length > 0 ? [all] : [];
    return all;
  }
}
