import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { Command } from '@commander-js/extra-typings';
import { split } from 'shlex';
import { parseStudy } from '../config/load-study.ts';
import { UserError } from '../errors.ts';
import { localHost } from '../host/local-host.ts';
import { readSystemdService } from '../server/systemd-service.ts';
import { findLaunchProgram } from '../sglang/launch-program.ts';
import { isSecretFlag } from '../sglang/secret-names.ts';
import { readUnit } from '../study/read-unit.ts';
import type { CliContext } from './context.ts';
import { reachTarget } from './reach-target.ts';
import { baseUrlOf, flagValue, studyTemplate, type TemplateInput } from './study-template.ts';

/** A few people with coding agents (field report); to be replaced by what production shows. */
const GUESSED_PROFILE = '{ 1: 0.45, 4: 0.30, 16: 0.20, 64: 0.05 }';
/** Folders whose units systemd runs: those are tuned through systemd. */
const SYSTEMD_FOLDER = /^\/(?:etc|run|usr\/lib|lib|usr\/local\/lib)\/systemd\/system\//;
const SCHEMA = fileURLToPath(new URL('../../search-spaces/study.schema.json', import.meta.url));

interface InitOptions {
  readonly fromUnit?: string | undefined;
  readonly ssh?: string | undefined;
  readonly user?: true | undefined;
  readonly out?: string | undefined;
  readonly name?: string | undefined;
  readonly simulated?: true | undefined;
  readonly force?: true | undefined;
}

/** What production starts, from wherever it was read. */
type Source = Pick<TemplateInput, 'argv' | 'target'> & { readonly suggestedName: string };

/** `init`: a study file from what production runs today. */
export function initCommand(context: CliContext) {
  return new Command('init')
    .summary('write a study file from your unit or launch command')
    .description(
      'Writes a study file with a search space that fits what production runs, a reason beside every\nrange. Takes a unit of systemd, here or behind ssh, a unit file, or a launch command behind --; asks\non a terminal when none is given. Nothing of production is changed.',
    )
    .argument('[command...]', 'launch command, behind --')
    .option('--from-unit <unit>', 'unit of production, or a unit file')
    .option('--ssh <host>', 'ssh alias or user@host of its machine (default: this machine)')
    .option('--user', 'the unit is one of systemctl --user')
    .option('--out <study>', 'study file to write (default: NAME.yaml)')
    .option('--name <name>', 'name of the study (default: that of the unit or model)')
    .option('--simulated', 'let a simulated server run in place of production’s program')
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep init --from-unit sglang.service --ssh gpu-1 --out study.yaml\n  nightsweep init --from-unit ./sglang.service\n  nightsweep init --out study.yaml -- python3 -m sglang.launch_server --model-path /srv/model',
    )
    .action(async (command, options) => {
      const source = await readSource(command, options, context);
      const name = options.name ?? source.suggestedName;
      const out = options.out ?? `${name}.yaml`;
      if (options.force !== true && existsSync(out)) {
        throw new UserError(`${out} is there already`, { hint: 'name another --out, or --force' });
      }
      await writeStudy(out, name, source, options);
      const next = 'unit' in source.target ? ['doctor', 'plan', 'sweep'] : ['plan', 'sweep'];
      const lines = next.map((name) => `  nightsweep ${name} ${out}\n`);
      context.stdout(`${out}\n\nnext:\n${lines.join('')}`);
    });
}

async function readSource(
  command: readonly string[],
  options: InitOptions,
  context: CliContext,
): Promise<Source> {
  const { fromUnit, simulated } = options;
  if (fromUnit !== undefined && command.length > 0) {
    throw new UserError('a unit and a launch command are given: one of them is production');
  }
  if (fromUnit !== undefined) {
    // A name without a folder that is no file here is what systemd knows it by.
    const isName = !fromUnit.includes('/') && !existsSync(fromUnit);
    return isName || options.ssh !== undefined || options.user === true
      ? sourceOfService(fromUnit, options, context)
      : sourceOfUnit(fromUnit, simulated === true);
  }
  for (const given of ['ssh', 'user'] as const) {
    if (options[given] !== undefined) {
      throw new UserError(`--${given} goes with --from-unit only`);
    }
  }
  if (command.length > 0) return sourceOfCommand(command);
  if (!context.isTerminal || !process.stdin.isTTY) {
    throw new UserError('nothing says what production runs', {
      hint: 'nightsweep init --from-unit UNIT_FILE, or nightsweep init -- python3 -m sglang.launch_server ...',
    });
  }
  const answer = await ask('Unit file or launch command of production: ');
  return existsSync(answer)
    ? sourceOfUnit(answer, simulated === true)
    : sourceOfCommand(split(answer));
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}

/** The merged unit as its systemd runs it. */
async function sourceOfService(
  name: string,
  { ssh, user, simulated }: InitOptions,
  context: CliContext,
): Promise<Source> {
  if (simulated === true) {
    throw new UserError('--simulated needs a unit file: systemd starts the real program', {
      hint: 'nightsweep init --simulated --from-unit ./sglang.service',
    });
  }
  const unit = basename(name);
  const where = { unit, user: user ?? false, ...(ssh === undefined ? {} : { ssh }) };
  await using place = await reachTarget(where, context);
  if (place.unit === undefined) throw new Error('no unit was opened');
  const { service } = await readSystemdService(place.unit);
  return {
    argv: service.argv,
    target: {
      ...(ssh === undefined ? {} : { ssh }),
      unit: place.unit.unit,
      ...(user === undefined ? {} : { user }),
    },
    suggestedName: place.unit.unit.replace(/\.service$/, '').replaceAll('@', '-'),
  };
}

async function sourceOfUnit(file: string, simulated: boolean): Promise<Source> {
  const path = resolve(file);
  const text = await localHost.readText(path);
  if (text === undefined) {
    throw new UserError(`there is no unit file ${file}`, {
      hint: 'A unit that systemd knows is named without its folder: --from-unit sglang.service',
    });
  }
  const { service } = await readUnit(path, text, localHost);
  // A unit that systemd runs is tuned in place; a simulated server needs no systemd.
  const inPlace = SYSTEMD_FOLDER.test(path) && !simulated;
  return {
    argv: service.argv,
    target: inPlace ? { unit: basename(path) } : { unit_file: path },
    suggestedName: basename(path).replace(/\.service$/, ''),
  };
}

function sourceOfCommand(argv: readonly string[]): Source {
  if (findLaunchProgram(argv) === undefined) {
    throw new UserError(`${argv.slice(0, 3).join(' ')} does not start SGLang`, {
      hint: 'expected python3 -m sglang.launch_server or sglang serve with its flags',
    });
  }
  const secret = argv.find(
    (word) => word.startsWith('--') && isSecretFlag(word.split('=')[0] ?? ''),
  );
  if (secret !== undefined) {
    throw new UserError(`${secret.split('=')[0] ?? ''}: a key may not stand in a study file`, {
      hint: 'leave it out here, and name the variable that holds it as target.api_key_env',
    });
  }
  const model = basename(flagValue(argv, 'model-path') ?? flagValue(argv, 'model') ?? 'study');
  return { argv, target: { command: argv }, suggestedName: model };
}

async function writeStudy(
  out: string,
  name: string,
  source: Source,
  { simulated }: InitOptions,
): Promise<void> {
  const folder = dirname(resolve(out));
  const { target } = source;
  const text = studyTemplate({
    name: name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, ''),
    schemaPath: existsSync(SCHEMA) ? relative(folder, SCHEMA) : undefined,
    target: 'unit_file' in target ? { unit_file: relative(folder, target.unit_file) } : target,
    baseUrl: baseUrlOf(source.argv),
    argv: source.argv,
    profile: GUESSED_PROFILE,
    simulated: simulated === true,
  });
  // What is written must load: a name or path that YAML reads otherwise fails here.
  parseStudy(text, out);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(out, text);
  } catch (error) {
    throw new UserError(`${out} cannot be written`, { cause: error });
  }
}
