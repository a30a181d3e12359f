import { UserError } from '../errors.ts';

/** Where a word will stand; `%` is special in both, `$` only in a command that expands variables. */
export type WordPlace = 'command' | 'command-without-variables' | 'environment';

/**
 * Writes a word so that systemd hands exactly it to the process: `%` as `%%`, `$` as `$$` in a
 * command, quotes around blanks, quotes, backslashes and empty words.
 *
 * `preferred` is the quote to use where one is needed or was there before.
 *
 * @throws UserError for line breaks and NUL, which do not survive a unit file.
 */
export function quoteUnitWord(word: string, place: WordPlace, preferred?: '"' | "'"): string {
  if (/[\n\r\0]/.test(word)) {
    throw new UserError(
      `a value with a line break cannot stand in a unit file: ${JSON.stringify(word)}`,
      {
        hint: 'Write JSON on one line.',
      },
    );
  }
  const percent = word.replaceAll('%', '%%');
  const doubled = place === 'command' ? percent.replaceAll('$', '$$$$') : percent;
  if (preferred === undefined && isPlain(doubled)) return doubled;
  const quote = preferred ?? (doubled.includes('"') && !doubled.includes("'") ? "'" : '"');
  const escaped = doubled
    .replaceAll('\\', '\\\\')
    .replaceAll(quote, `\\${quote}`)
    .replaceAll('\t', '\\t');
  return `${quote}${escaped}${quote}`;
}

/** Anything else is quoted: `;` alone ends a command, `#` may start a comment, and readers see what is literal. */
function isPlain(word: string): boolean {
  return /^[\w@%+=:,./$-]+$/.test(word);
}
