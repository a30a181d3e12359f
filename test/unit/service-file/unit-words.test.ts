import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quoteUnitWord } from '../../../src/service-file/quoting.ts';
import { splitUnitWords } from '../../../src/service-file/unit-words.ts';

function words(value: string): string[] {
  return splitUnitWords(value).words.map(({ text }) => text);
}

describe('splitUnitWords', () => {
  test.each([
    ['a  b\tc', ['a', 'b', 'c']],
    ['"a b" \'c d\'', ['a b', 'c d']],
    [`--x='{"a": 1}' y`, ['--x={"a": 1}', 'y']],
    ['a\\x41b \\u00e9 \\101 \\s|', ['aAb', 'é', 'A', ' |']],
    ['"q\\"uo\\\\te"', ['q"uo\\te']],
    ["'it\\'s'", ["it's"]],
    ['"" x', ['', 'x']],
    ['end \\', ['end', '\\']],
  ])('reads %j as systemd does', (value, expected) => {
    expect(words(value)).toEqual(expected);
  });

  test('keeps an escape that systemd does not know, and says so', () => {
    expect(splitUnitWords('foo\\qbar')).toMatchObject({
      words: [{ text: 'foo\\qbar' }],
      unknownEscapes: ['\\q'],
    });
  });

  test('reports a quote that is not closed', () => {
    expect(splitUnitWords('a "b').unbalanced).toBe(true);
  });

  test('gives the span of a word with its quotes', () => {
    expect(splitUnitWords('a "b c" d').words[1]).toMatchObject({ start: 2, end: 7 });
  });
});

describe('quoteUnitWord', () => {
  test.each([
    ['plain', 'plain'],
    ['50%', '50%%'],
    ['$x', '$$x'],
    ['{"a": 1}', `'{"a": 1}'`],
    [`it's "x"`, `"it's \\"x\\""`],
    ['', '""'],
    [';', '";"'],
    ['#x', '"#x"'],
    ['a\\b', '"a\\\\b"'],
  ])('writes %j as %s', (word, expected) => {
    expect(quoteUnitWord(word, 'command')).toBe(expected);
  });

  test('leaves dollars alone where systemd expands none', () => {
    expect(quoteUnitWord('$x', 'environment')).toBe('$x');
  });

  test.each(['a\nb', 'a\rb', 'a\0b'])('refuses %j', (word) => {
    expect(() => quoteUnitWord(word, 'command')).toThrow(/line break/);
  });

  test('every word without line breaks is read back as it was', () => {
    const hostile = fc.string({
      unit: fc.constantFrom(...Array.from(' \t"\'\\%$;#={}[]~*a1é𝄞-')),
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        hostile,
        fc.constantFrom(undefined, '"' as const, "'" as const),
        (word, quote) => {
          const back = words(`x ${quoteUnitWord(word, 'command', quote)} y`);
          expect(back.map((text) => text.replaceAll('%%', '%').replaceAll('$$', '$'))).toEqual([
            'x',
            word,
            'y',
          ]);
        },
      ),
    );
  });
});
