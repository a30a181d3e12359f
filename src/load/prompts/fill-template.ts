import type { SeededRandom } from './seeded-random.ts';

/** Words to choose from, by the name that stands in braces in a template. */
export type Vocabulary = Readonly<Record<string, readonly string[]>>;

/**
 * Replaces every `<name>` by a word of that list; the same name stands for the same word within
 * one template, `<Name>` for that word with a capital, `<NAME>` in capitals, `<#>` for a number
 * (a new one each time). Throws for a name without a list.
 */
export function fillTemplate(
  template: string,
  vocabulary: Vocabulary,
  random: SeededRandom,
): string {
  const chosen = new Map<string, string>();
  return template.replace(/<(#|[A-Za-z]+[0-9]?)>/g, (_match, name: string) => {
    if (name === '#') return String(2 + random.below(998));
    const key = name.toLowerCase();
    const words = vocabulary[key.replace(/[0-9]$/, '')];
    if (words === undefined) throw new Error(`no words for <${name}>`);
    const word = chosen.get(key) ?? random.pick(words);
    chosen.set(key, word);
    if (name === name.toUpperCase()) return word.toUpperCase();
    return name[0] === key[0] ? word : `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  });
}
