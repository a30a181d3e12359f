import { describe, expect, test } from 'vitest';
import { judgeOutputs } from '../../../src/load/output-guard.ts';

const prose = 'Light of short wavelength is scattered more by the air than light of a long one is.';
const sound = [
  ' Paris, which lies on the Seine.',
  ' Friday, Saturday, Sunday.',
  ' seven, eight, nine.',
  ' 4.',
  ' cold.',
  ' May, June, July.',
  prose,
  'def merge(a, b):\n    return sorted(a + b)  # short, not fast, and it is easy to read',
  'a stranger came up the stairs with a lamp in his hand and a letter in his coat',
];
const replaced = (from: number, ...texts: string[]): string[] =>
  sound.map((text, i) => texts[i - from] ?? text);

describe('outputs of a configuration', () => {
  test('that says the same as the baseline is sound', () => {
    expect(judgeOutputs(sound, sound)).toEqual([]);
  });

  test('in other words than the baseline is sound: greedy text differs with the batch (C20)', () => {
    const other = replaced(
      6,
      `Because ${prose.toLowerCase()}`,
      'merge = lambda a, b: sorted(a + b)',
    );
    expect(judgeOutputs(other, sound)).toEqual([]);
  });

  test('that answers !!!!!! to everything is not (C6)', () => {
    const garbage = sound.map(() => '!'.repeat(64));
    expect(judgeOutputs(garbage, sound)).toEqual([
      '9 of 9 answers repeat one token',
      '0 known answers right, the baseline has 6',
    ]);
  });

  test.each([
    { what: 'empty', text: ' ', problem: '1 of 9 answers are empty' },
    { what: 'unprintable', text: `\ufffd\ufffd${prose}`.repeat(3), problem: undefined },
    {
      what: 'mostly unprintable',
      text: '\ufffd\u0001ab'.repeat(9),
      problem: '1 of 9 answers are not printable',
    },
    { what: 'one word', text: 'the '.repeat(40), problem: '1 of 9 answers repeat one token' },
    { what: 'short', text: 'No.', problem: undefined },
  ])('one free answer that is $what', ({ text, problem }) => {
    expect(judgeOutputs(replaced(7, text), sound)).toEqual(problem === undefined ? [] : [problem]);
  });

  test('may miss one known answer, not two', () => {
    expect(judgeOutputs(replaced(0, ' Lyon.'), sound)).toEqual([]);
    expect(judgeOutputs(replaced(0, ' Lyon.', ' Banana.'), sound)).toEqual([
      '4 known answers right, the baseline has 6',
    ]);
  });

  test('are not blamed for what the baseline does as well: a model of random weights', () => {
    const babble = sound.map(() => '!'.repeat(64));
    expect(judgeOutputs(babble, babble)).toEqual([]);
  });

  test('of a stricter study must begin as the baseline does', () => {
    const other = replaced(6, 'Quite different.', 'Also this one.', 'And this.');
    expect(judgeOutputs(other, sound, { minSimilarity: 0.5 })).toEqual([
      "answers share 0.00 of the baseline's first words",
    ]);
  });
});
