/** Keeps the first `maxBytes` of a stream and drops the rest, so that a flood costs no memory. */
export class BoundedOutput {
  readonly #chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #keptBytes = 0;
  #truncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    const room = this.#maxBytes - this.#keptBytes;
    if (chunk.length > room) this.#truncated = true;
    if (room <= 0) return;
    const kept = chunk.subarray(0, room);
    this.#chunks.push(kept);
    this.#keptBytes += kept.length;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** What was kept, as UTF-8. */
  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}
