import type { Specifiers } from './specifiers.ts';
import type { UnitEntry, UnitText } from './unit-text.ts';
import type { UnitWord } from './unit-words.ts';

/** A unit file or drop-in to read, in the order of `systemctl cat`: the unit first. */
export interface UnitSource {
  readonly path: string;
  readonly text: string;
}

export interface ReadServiceOptions {
  /** `sglang.service`, `sglang@a.service`; for `%n`, `%i` and template checks. */
  readonly unitName: string;
  /** Text of a file of `EnvironmentFile=`, undefined when it does not exist on the target. */
  readonly readEnvironmentFile?: (path: string) => string | undefined;
  /** Values of host-dependent specifiers, by letter; those of the unit's name are known. */
  readonly specifiers?: Specifiers;
  /** What the process gets besides the unit's own settings (PATH, HOME, USER): only for `$NAME` in the command. */
  readonly inheritedEnvironment?: Readonly<Record<string, string>>;
}

/** Where an entry stands: file index in {@link Service.files} and the entry itself. */
export interface PlacedEntry {
  readonly file: number;
  readonly entry: UnitEntry;
}

/** A word of `ExecStart=` as written, and what the process gets for it. */
export interface CommandWord {
  readonly word: UnitWord;
  /** After `%` and `$`: one word; several or none for an unbraced `$NAME`. */
  readonly expanded: readonly string[];
  /** Set when the word is an unbraced `$NAME`. */
  readonly variable?: string;
}

/** The command in force. */
export interface ServiceCommand extends PlacedEntry {
  /** `-`, `@`, `:`, `+`, `!` in front of the program. */
  readonly prefix: string;
  /** Without `argv[0]` of an `@` command. */
  readonly words: readonly CommandWord[];
  /** `argv[0]` as written, of a command with the `@` prefix. */
  readonly argumentZero?: UnitWord;
}

/** One variable as the process gets it, and where it was set. */
export interface ServiceVariable {
  readonly name: string;
  readonly value: string;
  readonly from:
    | ({ readonly kind: 'unit'; readonly word: UnitWord } & PlacedEntry)
    | { readonly kind: 'file'; readonly path: string };
}

/** Something a reader of the unit would not expect. */
export type ServiceWarning =
  | {
      readonly code: 'ignored-line' | 'blank-after-backslash';
      readonly path: string;
      readonly line: number;
      readonly text: string;
    }
  | {
      readonly code: 'literal-variable';
      readonly path: string;
      readonly line: number;
      readonly name: string;
      readonly value: string;
    }
  | { readonly code: 'one-word-variable'; readonly name: string }
  | { readonly code: 'unset-variable'; readonly name: string }
  | {
      readonly code: 'unknown-escape' | 'invalid-environment';
      readonly path: string;
      readonly line: number;
      readonly text: string;
    };

/** A service as systemd runs it, tied to the text it came from. */
export interface Service {
  readonly unitName: string;
  /** The unit, then its drop-ins. */
  readonly files: readonly UnitText[];
  /** Words of the process, program first. */
  readonly argv: readonly string[];
  readonly command: ServiceCommand;
  /** What the unit sets: `Environment=`, `EnvironmentFile=`, minus `UnsetEnvironment=`. May hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every setting of a variable, in the order they apply; the last one counts. */
  readonly variables: readonly ServiceVariable[];
  readonly unset: readonly string[];
  readonly workingDirectory?: string;
  readonly user?: string;
  readonly warnings: readonly ServiceWarning[];
}
