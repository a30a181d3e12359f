import { redactText } from '../sglang/redact.ts';

/** About 400 lines of an SGLang log. */
const KEPT_CHARACTERS = 64 * 1024;

/** The end of a log that still grows, for messages and for the study's database. */
export class LogTail {
  readonly #secrets: readonly string[];
  #text = '';

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  add(text: string): void {
    const all = this.#text + text;
    this.#text = all.slice(-KEPT_CHARACTERS);
    if (all.length > KEPT_CHARACTERS) this.#text = this.#withoutHalfSecret(this.#text);
  }

  /** Where the cut went through a secret its end would stand at the front, unrecognised. */
  #withoutHalfSecret(text: string): string {
    for (const secret of this.#secrets) {
      for (let length = secret.length - 1; length > 0; length -= 1) {
        if (text.startsWith(secret.slice(-length))) return text.slice(length);
      }
    }
    return text;
  }

  /** The last `count` lines, oldest first, without secrets and without empty lines at the end. */
  lines(count: number): string[] {
    if (count <= 0) return [];
    // A progress bar overwrites its line by carriage returns: each state counts as a line.
    const lines = redactText(this.#text, this.#secrets).split(/\r\n|\n|\r/);
    while (lines.at(-1) === '') lines.pop();
    return lines.slice(-count);
  }
}
