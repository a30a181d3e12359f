import { readFile } from 'node:fs/promises';
import { Command } from '@commander-js/extra-typings';
import { loadStudy } from '../config/load-study.ts';
import { UserError } from '../errors.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import { type FlagHelp, parseHelp } from '../sglang/help.ts';
import { rulesOfFlag } from '../sglang/rules-of-flag.ts';
import { tunableFlag } from '../sglang/tunable-flags.ts';
import { readProduction } from '../study/production.ts';
import type { CliContext } from './context.ts';
import { reachTarget } from './reach-target.ts';

interface KnownFlags {
  readonly version: string | null;
  readonly flags: readonly FlagHelp[];
}

/** `flags`: what a server version offers for tuning, and the rules known of it. */
export function flagsCommand(context: CliContext) {
  return new Command('flags')
    .summary('list what a server version offers for tuning')
    .description(
      'Lists the flags of a study’s server (or of --help-file) that are worth tuning: values to try, since\nwhich version, and the rules that nightsweep knows of them. --all: every flag of the help text.',
    )
    .argument('[study]', 'study file: its own server is asked')
    .option('--help-file <file>', 'saved output of python3 -m sglang.launch_server --help')
    .option('--flag <name>', 'only this flag, with its help and its rules')
    .option('--all', 'every flag, one line each')
    .option('--json', 'print JSON, every flag')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep flags search-spaces/demo.yaml\n  nightsweep flags search-spaces/demo.yaml --flag max-running-requests',
    )
    .action(async (study, { helpFile, flag, all, json }) => {
      const known = await readFlags(study, helpFile, context);
      const shown = flag === undefined ? known.flags : [requireKnown(flag, known.flags)];
      const version = known.version ?? undefined;
      if (json === true) {
        const answer = { version: known.version, flags: shown.map(flagJson) };
        context.stdout(`${JSON.stringify(answer, null, 2)}\n`);
      } else if (flag !== undefined) {
        context.stdout(`${shown.map((one) => flagText(one, version)).join('\n')}\n`);
      } else if (all === true) {
        context.stdout(`${shown.map((one) => flagLine(one, version)).join('\n')}\n`);
      } else {
        context.stdout(`${tuningText(shown, version)}\n`);
      }
    });
}

async function readFlags(
  study: string | undefined,
  helpFile: string | undefined,
  context: CliContext,
): Promise<KnownFlags> {
  if ((study === undefined) === (helpFile === undefined)) {
    throw new UserError('one of a study file and --help-file is needed', {
      hint: 'nightsweep flags STUDY, or nightsweep flags --help-file FILE',
    });
  }
  if (helpFile !== undefined) {
    const text = await readFile(helpFile, 'utf8').catch((cause: unknown) => {
      throw new UserError(`${helpFile} cannot be read`, { cause });
    });
    return { version: null, flags: parseHelp(text).flags };
  }
  const loaded = await loadStudy(study ?? '');
  await using place = await reachTarget(loaded.target, context);
  const { version, help } = await readProduction(loaded, place.host, place.unit);
  return { version, flags: help.flags };
}

function requireKnown(written: string, flags: readonly FlagHelp[]): FlagHelp {
  const name = written.replace(/^-+/, '').replaceAll('_', '-');
  const found = flags.find((flag) => flag.name === name || flag.aliases.includes(name));
  if (found !== undefined) return found;
  const nearest = nearestName(
    name,
    flags.map((flag) => flag.name),
  );
  throw new UserError(`this version has no flag --${name}`, {
    hint: nearest === undefined ? undefined : `did you mean --${nearest}?`,
  });
}

function flagJson(flag: FlagHelp) {
  const { name, aliases, type, choices, takes, deprecated, summary } = flag;
  const tunable = tunableFlag(flag);
  return {
    name,
    aliases,
    type,
    choices: choices ?? null,
    takes,
    deprecated: deprecated ?? false,
    summary,
    worth_trying: tunable?.values ?? null,
    since: tunable?.since ?? null,
    rules: rulesOfFlag(name),
  };
}

function flagLine({ name, aliases, takes, type, choices }: FlagHelp, version?: string): string {
  const value = takes === 'nothing' ? '' : ` ${choices === undefined ? type : choices.join('|')}`;
  const also = aliases.length === 0 ? '' : `  (also ${aliases.join(', ')})`;
  const rules = rulesOfFlag(name, version).length;
  const known = rules === 0 ? '' : `  [${String(rules)} rules]`;
  return `--${name}${value}${also}${known}`;
}

/** The flags worth tuning, each with values to try and the rules that touch it. */
function tuningText(flags: readonly FlagHelp[], version?: string): string {
  const shown = flags.filter((flag) => tunableFlag(flag) !== undefined);
  return [
    ...shown.map((flag) => `${tuningLines(flag).join('\n')}${ruleLines(flag, version)}`),
    `\n${String(shown.length)} of ${String(flags.length)} flags: --all lists the others, --flag NAME tells more of one`,
  ].join('\n');
}

function tuningLines(flag: FlagHelp): readonly string[] {
  const tunable = tunableFlag(flag);
  if (tunable === undefined) return [];
  const { name, values, why, since } = tunable;
  const age = since === OLDEST ? `${since} or before` : since;
  return [`--${name}  (since ${age})`, `  try ${values.join(', ')}: ${why}`];
}

/** The oldest version whose flags are known. */
const OLDEST = '0.4.9';

function ruleLines({ name }: FlagHelp, version?: string): string {
  return rulesOfFlag(name, version)
    .map(({ kind, reason }) => `\n  ${kind}: ${reason}`)
    .join('');
}

function flagText(flag: FlagHelp, version?: string): string {
  const rules = rulesOfFlag(flag.name, version).map((rule) => {
    const { id, kind, reason, from, through, source } = rule;
    const versions = through === undefined ? `from ${from}` : `${from} to ${through}`;
    return `\n${id} (${kind}, ${versions})\n  ${reason}\n  source: ${source}`;
  });
  return [
    flagLine(flag, version),
    ...(flag.summary === '' ? [] : [`  ${flag.summary}`]),
    ...tuningLines(flag).slice(1),
    ...(rules.length === 0 ? ['', 'no rules are known of it'] : rules),
  ].join('\n');
}
