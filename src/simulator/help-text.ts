import { FLAGS, type Flag } from './flags.ts';

const PROGRAM = 'usage: sglang serve';
const USAGE_INDENT = ' '.repeat('usage: sglang serve '.length);
const USAGE_WIDTH = 78;
const HELP_COLUMN = 24;

function metavar(flag: Flag): string {
  if (flag.choices.length > 0) return `{${flag.choices.join(',')}}`;
  return flag.name.replaceAll('-', '_').toUpperCase();
}

/** Words after a spelling: empty for a flag without a value. */
function valueWords(flag: Flag): string {
  switch (flag.takes) {
    case 'flag':
    case 'switch':
      return '';
    case 'many':
      return ` ${metavar(flag)} [${metavar(flag)} ...]`;
    case 'maybe':
      return ` [${metavar(flag)}]`;
    case 'one':
      return ` ${metavar(flag)}`;
  }
}

/** The usage paragraph, wrapped as argparse wraps it. */
export function usageText(): string {
  const words = FLAGS.flatMap((flag) => {
    const form =
      flag.takes === 'switch'
        ? `--${flag.name} | --no-${flag.name}`
        : `--${flag.name}${valueWords(flag)}`;
    return flag.name === 'model-path' ? [form] : [`[${form}]`];
  });
  const lines: string[] = [];
  let line = `${PROGRAM} [-h]`;
  for (const word of words) {
    if (line.length + word.length + 1 > USAGE_WIDTH) {
      lines.push(line);
      line = `${USAGE_INDENT.slice(0, -1)} ${word}`;
    } else {
      line = `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}

function optionEntry(head: string, help: string): string {
  if (help === '') return `  ${head}`;
  if (head.length + 4 <= HELP_COLUMN) return `  ${head}`.padEnd(HELP_COLUMN) + help;
  return `  ${head}\n${' '.repeat(HELP_COLUMN)}${help}`;
}

function describe(flag: Flag): string[] {
  const names = [flag.name, ...flag.aliases];
  const spellings =
    flag.takes === 'switch'
      ? names.flatMap((name) => [`--${name}`, `--no-${name}`])
      : names.map((name) => `--${name}${valueWords(flag)}`);
  const entries = [optionEntry(spellings.join(', '), '')];
  for (const old of flag.deprecatedAliases) {
    const head = `--${old}${valueWords({ ...flag, name: old })}`;
    entries.push(optionEntry(head, `Deprecated. Use --${flag.name} instead.`));
  }
  return entries;
}

/** `--help` in argparse's form: usage, then one entry per option. Descriptions are left out. */
export function helpText(): string {
  const options = FLAGS.flatMap(describe);
  const help = optionEntry('-h, --help', 'show this help message and exit');
  return `${usageText()}\n\noptions:\n${[help, ...options].join('\n')}\n`;
}
