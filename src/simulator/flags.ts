import { FLAG_TABLE } from './flag-table.ts';

export type FlagTakes = 'flag' | 'switch' | 'one' | 'many' | 'maybe';
export type FlagValueType = 'str' | 'int' | 'float' | 'size';
export type ArgumentValue =
  | string
  | number
  | boolean
  | null
  | readonly (string | number)[]
  | object;

/** One SGLang launch flag, named without leading dashes. */
export interface Flag {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Spellings of older versions; accepted with a warning. */
  readonly deprecatedAliases: readonly string[];
  readonly takes: FlagTakes;
  readonly type: FlagValueType;
  readonly choices: readonly string[];
  readonly defaultValue: ArgumentValue;
  /** Name in server info and in `server_args=`. */
  readonly field: string;
}

/** Fields whose name is not the flag's with underscores. */
const FIELD_OF: Readonly<Record<string, string>> = {
  'fp8-gemm-backend': 'fp8_gemm_runner_backend',
  'fp4-gemm-backend': 'fp4_gemm_runner_backend',
  'elastic-ep-join-mode': 'ep_join_mode',
  'elastic-ep-join-rank-offset': 'ep_join_rank_offset',
};

function parseRow(line: string): Flag {
  const [name = '', aliases = '', takes = 'one', type = '', choices = '', value = 'null'] =
    line.split('|');
  const all = aliases === '' ? [] : aliases.split(',');
  return {
    name,
    aliases: all.filter((alias) => !alias.startsWith('!')),
    deprecatedAliases: all.filter((alias) => alias.startsWith('!')).map((alias) => alias.slice(1)),
    takes: takes as FlagTakes,
    type: type === '' ? 'str' : (type as FlagValueType),
    choices: choices === '' ? [] : choices.split(','),
    defaultValue: JSON.parse(value) as ArgumentValue,
    field: FIELD_OF[name] ?? name.replaceAll('-', '_'),
  };
}

/** All flags, in the order of SGLang's help. */
export const FLAGS: readonly Flag[] = FLAG_TABLE.trim().split('\n').map(parseRow);

interface Spelling {
  readonly flag: Flag;
  readonly negated: boolean;
  readonly deprecated: boolean;
}

/** Every accepted spelling (with leading dashes) to what it sets. */
export const SPELLINGS: ReadonlyMap<string, Spelling> = new Map<string, Spelling>(
  FLAGS.flatMap((flag) => [
    ...[flag.name, ...flag.aliases].map(
      (name) => [`--${name}`, { flag, negated: false, deprecated: false }] as const,
    ),
    ...flag.deprecatedAliases.map(
      (name) => [`--${name}`, { flag, negated: false, deprecated: true }] as const,
    ),
    ...(flag.takes === 'switch'
      ? [[`--no-${flag.name}`, { flag, negated: true, deprecated: false }] as const]
      : []),
  ]),
);
