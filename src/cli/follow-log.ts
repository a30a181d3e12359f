import { open } from 'node:fs/promises';
import { systemClock } from '../clock.ts';

const POLL_MS = 300;
const PIECE_BYTES = 64 * 1024;

/** Reads a file that grows, from a place on. */
export class GrowingFile {
  readonly #path: string;
  #offset: number;

  constructor(path: string, offset = 0) {
    this.#path = path;
    this.#offset = offset;
  }

  /** What came since the last call; empty when nothing did. */
  async read(): Promise<string> {
    await using file = await opened(this.#path);
    const chunks: Buffer[] = [];
    for (;;) {
      const { bytesRead, buffer } = await file.handle.read({
        buffer: Buffer.alloc(PIECE_BYTES),
        position: this.#offset,
      });
      if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
      this.#offset += bytesRead;
      chunks.push(buffer.subarray(0, bytesRead));
    }
  }
}

async function opened(path: string) {
  const handle = await open(path, 'r');
  return { handle, [Symbol.asyncDispose]: async () => handle.close() };
}

/**
 * Prints what a file gets until `isOver`, which is asked before each look: what was written last is
 * printed too. Rejects with the signal's reason when aborted.
 */
export async function followLog(
  file: GrowingFile,
  print: (text: string) => void,
  isOver: () => boolean,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const over = isOver();
    const text = await file.read();
    if (text !== '') print(text);
    if (over) return;
    await systemClock.sleep(POLL_MS, signal);
  }
}
