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
    this.#text = (this.#text + text).slice(-KEPT_CHARACTERS);
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
