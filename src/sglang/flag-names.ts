import { UserError } from '../errors.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import { normaliseParameterName } from '../search-space/parameter-names.ts';
import type { FlagHelp, HelpText } from './help.ts';
import { isVersionAtMost, RENAMED_FLAGS, RETIRED_FLAGS } from './renamed-flags.ts';

/** What a spelling of a flag means to one server version. */
export type FlagLookup =
  | {
      readonly kind: 'known';
      readonly flag: FlagHelp;
      readonly by: 'name' | 'alias' | 'abbreviation';
      /** The spelling is the off form, `--no-x`. */
      readonly negated: boolean;
    }
  /** Help does not show the old name, but this version accepts it, or may (version unknown). */
  | { readonly kind: 'hidden'; readonly flag: FlagHelp; readonly certain: boolean }
  /** An abbreviation of several flags: SGLang stops with `ambiguous option`. */
  | { readonly kind: 'ambiguous'; readonly candidates: readonly string[] }
  /** Gone from this version. `flag` is its successor where the value means the same. */
  | { readonly kind: 'retired'; readonly replacement: string; readonly flag?: FlagHelp }
  | { readonly kind: 'unknown'; readonly nearest?: string };

/**
 * Finds a flag as SGLang's argparse does (`allow_abbrev`): exact name, alias, then a prefix that
 * only one flag has. `name` carries no leading dashes and is taken literally (SGLang refuses
 * underscores); pass what a study wrote through `normaliseParameterName` first.
 *
 * Python before 3.12.8 calls a prefix of two aliases of one flag ambiguous; here it is that flag.
 */
export function lookupFlag(name: string, help: HelpText, version?: string): FlagLookup {
  const exact = spellingsOf(help).byName.get(name);
  if (exact !== undefined) {
    const by = exact.flag.name === name ? 'name' : 'alias';
    return { kind: 'known', flag: exact.flag, by, negated: exact.flag.negation === name };
  }
  const renamed = lookupRenamed(name, help, version);
  if (renamed !== undefined) return renamed;
  const prefixed =
    name === '' ? [] : spellingsOf(help).all.filter(({ spelling }) => spelling.startsWith(name));
  const flags = new Set(prefixed.map(({ flag }) => flag));
  const [first] = prefixed;
  if (flags.size > 1) {
    return { kind: 'ambiguous', candidates: prefixed.map(({ spelling }) => spelling) };
  }
  if (first !== undefined) {
    const negated = prefixed.every(({ flag, spelling }) => spelling === flag.negation);
    return { kind: 'known', flag: first.flag, by: 'abbreviation', negated };
  }
  const replacement = Object.hasOwn(RETIRED_FLAGS, name) ? RETIRED_FLAGS[name] : undefined;
  if (replacement !== undefined) return { kind: 'retired', replacement };
  const nearest = nearestFlagName(name, help);
  return { kind: 'unknown', ...(nearest === undefined ? {} : { nearest }) };
}

/**
 * Flag of a study's parameter name.
 *
 * @throws UserError naming the nearest flag, the successor or the candidates when this version has no such flag.
 */
export function requireFlag(name: string, help: HelpText, version?: string): FlagHelp {
  const found = lookupFlag(normaliseParameterName(name), help, version);
  switch (found.kind) {
    case 'known':
    case 'hidden':
      return found.flag;
    case 'ambiguous':
      throw new UserError(`flag "${name}" is ambiguous in this SGLang version`, {
        hint: `It could be ${found.candidates.map((flag) => `--${flag}`).join(', ')}.`,
      });
    case 'retired':
      throw new UserError(`flag "${name}" is not in this SGLang version any more`, {
        hint: `Use ${found.replacement}.`,
      });
    case 'unknown':
      throw new UserError(`this SGLang version has no flag "${name}"`, {
        hint:
          found.nearest === undefined
            ? 'nightsweep flags lists the flags of the target.'
            : `Did you mean --${found.nearest}?`,
      });
  }
}

/** The flag whose name or alias is nearest; undefined when nothing is near. */
export function nearestFlagName(name: string, help: HelpText): string | undefined {
  const predecessor = RENAMED_FLAGS.find(
    ({ old, successor }) => successor === name && findByName(help, old) !== undefined,
  );
  if (predecessor !== undefined) return predecessor.old;
  return nearestName(name, spellingsOf(help).byName.keys());
}

function lookupRenamed(name: string, help: HelpText, version?: string): FlagLookup | undefined {
  const rename = RENAMED_FLAGS.find(({ old }) => old === name);
  const flag = rename === undefined ? undefined : findByName(help, rename.successor);
  if (rename === undefined || flag === undefined) return undefined;
  const accepted =
    version === undefined ? undefined : isVersionAtMost(version, rename.acceptedThrough);
  if (accepted === false) return { kind: 'retired', replacement: `--${flag.name}`, flag };
  return { kind: 'hidden', flag, certain: accepted === true };
}

function findByName(help: HelpText, name: string): FlagHelp | undefined {
  return spellingsOf(help).byName.get(name)?.flag;
}

interface Spelling {
  readonly flag: FlagHelp;
  readonly spelling: string;
}

interface Spellings {
  readonly all: readonly Spelling[];
  readonly byName: ReadonlyMap<string, Spelling>;
}

/** A help text has some 560 flags and is asked for each word of each assignment. */
const indexed = new WeakMap<HelpText, Spellings>();

/** Long spellings of every flag, the off forms included. */
function spellingsOf(help: HelpText): Spellings {
  const known = indexed.get(help);
  if (known !== undefined) return known;
  const all = help.flags.flatMap((flag) =>
    [flag.name, ...flag.aliases, ...(flag.negation === undefined ? [] : [flag.negation])]
      .filter((spelling) => spelling.length > 1)
      .map((spelling) => ({ flag, spelling })),
  );
  const built = { all, byName: new Map(all.map((entry) => [entry.spelling, entry])) };
  indexed.set(help, built);
  return built;
}
