import { type ArgumentValue, FLAGS, type Flag, type FlagTakes, SPELLINGS } from './flags.ts';

/** What argparse makes of a command line: values by field, help asked for, or its error line. */
export type ParsedCommandLine =
  | { readonly state: 'help' }
  | { readonly state: 'error'; readonly message: string }
  | {
      readonly state: 'parsed';
      readonly values: ReadonlyMap<string, ArgumentValue>;
      /** Deprecated spellings that were used, with the current name. */
      readonly deprecated: readonly { readonly used: string; readonly current: string }[];
    };

/** A mistake on the command line, with argparse's text. */
class ArgparseError extends Error {}

type Match = { flag: Flag; negated: boolean; deprecated: boolean; inline: string | undefined };

const NEGATIVE_NUMBER = /^-\d+$|^-\d*\.\d+$/;

/** True for a word that argparse takes for an option rather than a value. */
function looksLikeOption(word: string): boolean {
  return word.startsWith('-') && word !== '-' && !NEGATIVE_NUMBER.test(word) && !word.includes(' ');
}

/**
 * Finds the option of a word as argparse does: exact spelling, `--x=value`, then unique prefix.
 * Undefined for an option that does not exist.
 */
function matchOption(word: string): Match | undefined {
  const exact = SPELLINGS.get(word);
  if (exact !== undefined) return { ...exact, inline: undefined };
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const inline = equals < 0 ? undefined : word.slice(equals + 1);
  const exactInline = SPELLINGS.get(name);
  if (exactInline !== undefined) return { ...exactInline, inline };
  if (!name.startsWith('--')) return undefined;
  const candidates = [...SPELLINGS.keys()].filter((spelling) => spelling.startsWith(name));
  const [first] = candidates;
  if (first === undefined) return undefined;
  if (candidates.length > 1) {
    throw new ArgparseError(`ambiguous option: ${name} could match ${candidates.join(', ')}`);
  }
  const found = SPELLINGS.get(first);
  return found === undefined ? undefined : { ...found, inline };
}

function spellingsOf(flag: Flag): string {
  return [flag.name, ...flag.aliases].map((name) => `--${name}`).join('/');
}

const SIZE_FACTORS: Readonly<Record<string, number>> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

function readSize(text: string): number | undefined {
  const match = /^(-?\d+(?:\.\d+)?)([kmgt]i?)?$/i.exec(text);
  if (match?.[1] === undefined) return undefined;
  const value = Number(match[1]) * (SIZE_FACTORS[match[2]?.toLowerCase() ?? ''] ?? 1);
  return Number.isInteger(value) ? value : undefined;
}

function readValue(flag: Flag, text: string): string | number {
  const readers = {
    str: () => text,
    int: () => (/^[+-]?\d+(_\d+)*$/.test(text) ? Number(text.replaceAll('_', '')) : undefined),
    float: () =>
      /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(inf|nan)$/i.test(text)
        ? Number(text)
        : undefined,
    size: () => readSize(text),
  };
  const value = readers[flag.type]();
  if (value === undefined) {
    const type = flag.type === 'size' ? 'human_readable_int' : flag.type;
    throw new ArgparseError(`argument ${spellingsOf(flag)}: invalid ${type} value: '${text}'`);
  }
  if (flag.choices.length > 0 && !flag.choices.includes(text)) {
    const choices = flag.choices.map((choice) => `'${choice}'`).join(', ');
    throw new ArgparseError(
      `argument ${spellingsOf(flag)}: invalid choice: '${text}' (choose from ${choices})`,
    );
  }
  return value;
}

const MAX_VALUES: Readonly<Record<FlagTakes, number>> = {
  flag: 0,
  switch: 0,
  one: 1,
  maybe: 1,
  many: Infinity,
};

/** Value of one occurrence of a flag from the words that follow it; also how many were used. */
function takeValues(
  { flag, negated, inline }: Match,
  following: readonly string[],
): { value: ArgumentValue; used: number } {
  const name = spellingsOf(flag);
  if (flag.takes === 'flag' || flag.takes === 'switch') {
    if (inline !== undefined) {
      throw new ArgparseError(`argument ${name}: ignored explicit argument '${inline}'`);
    }
    return { value: !negated, used: 0 };
  }
  if (inline !== undefined) {
    const single = readValue(flag, inline);
    return { value: flag.takes === 'many' ? [single] : single, used: 0 };
  }
  const firstOption = following.findIndex(looksLikeOption);
  const available = firstOption < 0 ? following : following.slice(0, firstOption);
  const words = available.slice(0, MAX_VALUES[flag.takes]);
  if (words.length === 0 && flag.takes === 'maybe') return { value: true, used: 0 };
  if (words.length === 0) {
    const expected = flag.takes === 'many' ? 'at least one argument' : 'one argument';
    throw new ArgparseError(`argument ${name}: expected ${expected}`);
  }
  const values = words.map((word) => readValue(flag, word));
  return { value: flag.takes === 'many' ? values : (values[0] ?? null), used: words.length };
}

function parse(argv: readonly string[]): ParsedCommandLine {
  const values = new Map<string, ArgumentValue>();
  const deprecated: { used: string; current: string }[] = [];
  const unrecognized: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] ?? '';
    if (word === '-h' || word === '--help') return { state: 'help' };
    const match = looksLikeOption(word) ? matchOption(word) : undefined;
    if (match === undefined) {
      unrecognized.push(word);
      continue;
    }
    const { value, used } = takeValues(match, argv.slice(i + 1));
    values.set(match.flag.field, value);
    if (match.deprecated) deprecated.push({ used: word, current: `--${match.flag.name}` });
    i += used;
  }
  if (!values.has('model_path')) {
    throw new ArgparseError('the following arguments are required: --model-path/--model');
  }
  if (unrecognized.length > 0) {
    throw new ArgparseError(`unrecognized arguments: ${unrecognized.join(' ')}`);
  }
  return { state: 'parsed', values, deprecated };
}

/**
 * Parses a launch command line as SGLang's argparse does: unique abbreviations are accepted, the
 * last of repeated flags wins, and errors have argparse's words.
 */
export function parseCommandLine(argv: readonly string[]): ParsedCommandLine {
  try {
    return parse(argv);
  } catch (error) {
    if (error instanceof ArgparseError) return { state: 'error', message: error.message };
    throw error;
  }
}

/** Values of all fields before resolution: what was given, else SGLang's default. */
export function withDefaults(
  given: ReadonlyMap<string, ArgumentValue>,
): Record<string, ArgumentValue> {
  return Object.fromEntries(
    FLAGS.map((flag) => [flag.field, given.get(flag.field) ?? flag.defaultValue]),
  );
}
