import { UserError } from '../errors.ts';
import type { UnitWord } from './unit-words.ts';

interface ShellForm {
  readonly pattern: RegExp;
  readonly what: string;
}

/** Dollar forms of a shell, also in quotes; a doubled dollar is none. */
const DOLLARS: readonly ShellForm[] = [
  { pattern: /(^|[^$])\$\(/, what: 'command substitution' },
  {
    pattern: /(^|[^$])\$\{[A-Za-z_]\w*(:?[-=?+#%/]|\[)[^}]*\}/,
    what: 'a default or check of a variable',
  },
  { pattern: /^\$[@*#?]$/, what: 'script arguments' },
  { pattern: /(^|[^$])\$\{[@*#?]\}/, what: 'script arguments' },
];

/** What a shell would act on where no quote protects the word. */
const UNQUOTED: readonly ShellForm[] = [
  { pattern: /`/, what: 'command substitution' },
  { pattern: /^(\||\|\||&&|&|;)$/, what: 'a list of commands' },
  { pattern: /^\d?(>>?|<)(&\d)?/, what: 'a redirection' },
  { pattern: /^~(\/|$)/, what: 'the home directory ~' },
  { pattern: /^[^={]*\/[^={]*[*]|\*\/|^\*$/, what: 'a file name pattern' },
];

/**
 * Refuses shell syntax in `ExecStart=`: systemd runs no shell, so the server would get these
 * characters as they stand.
 *
 * @throws UserError naming the word and what it would mean to a shell.
 */
export function refuseShellSyntax(
  where: string,
  words: readonly UnitWord[],
  { expandsVariables }: { readonly expandsVariables: boolean },
): void {
  const dollars = expandsVariables ? DOLLARS : [];
  for (const word of words) {
    const form = dollars.find(({ pattern }) => pattern.test(word.text)) ?? unquotedForm(word);
    if (form === undefined) continue;
    throw new UserError(
      `${where}: "${word.text}" is ${form.what}, which needs a shell; systemd runs ExecStart without one`,
      { hint: 'Write the value itself into ExecStart.' },
    );
  }
}

function unquotedForm({ text, bare }: UnitWord): ShellForm | undefined {
  if (bare.size !== text.length) return undefined;
  return UNQUOTED.find(({ pattern }) => pattern.test(text));
}
