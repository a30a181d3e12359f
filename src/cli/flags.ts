import { readFile } from 'node:fs/promises';
import { Command } from '@commander-js/extra-typings';
import { loadStudy } from '../config/load-study.ts';
import { UserError } from '../errors.ts';
import { nearestName } from '../search-space/nearest-name.ts';
import { type FlagHelp, parseHelp } from '../sglang/help.ts';
import { rulesOfFlag } from '../sglang/rules-of-flag.ts';
import { readProduction } from '../study/production.ts';
import type { CliContext } from './context.ts';
import { reachTarget } from './reach-target.ts';

interface KnownFlags {
  readonly version: string | null;
  readonly flags: readonly FlagHelp[];
}

/** `flags`: what a server version can be told, and the rules known of it. */
export function flagsCommand(context: CliContext) {
  return new Command('flags')
    .summary('list the flags of a server version')
    .description(
      'Lists every flag of the help text of a study’s server (or of --help-file), with its aliases,\nvalues, and the rules that nightsweep knows of it.',
    )
    .argument('[study]', 'study file: its own server is asked')
    .option('--help-file <file>', 'saved output of python3 -m sglang.launch_server --help')
    .option('--flag <name>', 'only this flag, with its help and its rules')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep flags search-spaces/demo.yaml\n  nightsweep flags search-spaces/demo.yaml --flag max-running-requests',
    )
    .action(async (study, { helpFile, flag, json }) => {
      const known = await readFlags(study, helpFile, context);
      const shown = flag === undefined ? known.flags : [requireKnown(flag, known.flags)];
      if (json === true) {
        const all = { version: known.version, flags: shown.map(flagJson) };
        context.stdout(`${JSON.stringify(all, null, 2)}\n`);
      } else {
        context.stdout(`${shown.map(flag === undefined ? flagLine : flagText).join('\n')}\n`);
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

function flagJson({ name, aliases, type, choices, takes, deprecated, summary }: FlagHelp) {
  return {
    name,
    aliases,
    type,
    choices: choices ?? null,
    takes,
    deprecated: deprecated ?? false,
    summary,
    rules: rulesOfFlag(name),
  };
}

function flagLine({ name, aliases, takes, type, choices }: FlagHelp): string {
  const value = takes === 'nothing' ? '' : ` ${choices === undefined ? type : choices.join('|')}`;
  const also = aliases.length === 0 ? '' : `  (also ${aliases.join(', ')})`;
  const rules = rulesOfFlag(name).length;
  const known = rules === 0 ? '' : `  [${String(rules)} rules]`;
  return `--${name}${value}${also}${known}`;
}

function flagText(flag: FlagHelp): string {
  const rules = rulesOfFlag(flag.name).map(({ id, kind, reason, from, through, source }) => {
    const versions = through === undefined ? `from ${from}` : `${from} to ${through}`;
    return `\n${id} (${kind}, ${versions})\n  ${reason}\n  source: ${source}`;
  });
  return [
    flagLine(flag),
    ...(flag.summary === '' ? [] : [`  ${flag.summary}`]),
    ...(rules.length === 0 ? ['', 'no rules are known of it'] : rules),
  ].join('\n');
}
