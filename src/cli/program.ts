import { Command } from '@commander-js/extra-typings';
import type { CliContext } from './context.ts';

const DESCRIPTION = `Finds the SGLang launch flags that serve your own load best, proves it, and writes the
systemd service file.`;

const EXIT_CODES = `
Exit codes:
  0    done
  1    nothing feasible, or no trial meets the limits
  2    operator error
  3    done, no significant win: keep what you have
  70   bug
  130  interrupted`;

/**
 * Every command in one place. Loaded when they are called: all of them together take longer to
 * load than `bench` may take to start.
 */
const commands = {
  init: async () => (await import('./init.ts')).initCommand,
  profile: async () => (await import('./profile.ts')).profileCommand,
  sweep: async () => (await import('./sweep.ts')).sweepCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  plan: async () => (await import('./plan.ts')).planCommand,
  rank: async () => (await import('./rank.ts')).rankCommand,
  compare: async () => (await import('./compare.ts')).compareCommand,
  recommend: async () => (await import('./recommend.ts')).recommendCommand,
  report: async () => (await import('./report.ts')).reportCommand,
  replay: async () => (await import('./replay.ts')).replayCommand,
  bench: async () => (await import('./bench.ts')).benchCommand,
  simulate: async () => (await import('./simulate.ts')).simulateCommand,
  import: async () => (await import('./import.ts')).importCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  flags: async () => (await import('./flags.ts')).flagsCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
  complete: async () => (await import('./completion.ts')).completeCommand,
} as const;

type CommandName = keyof typeof commands;

/** What the completion scripts call; for nobody to read. */
const HIDDEN = 'complete';

/**
 * The command line with the command that the arguments name, or with all of them (for help, and
 * for the nearest name of one that does not exist). Errors of its use are thrown as CommanderError
 * after being printed.
 */
export async function createProgram(
  context: CliContext,
  argv: readonly string[],
): Promise<Command> {
  const program = new Command('nightsweep')
    .description(DESCRIPTION)
    .version(context.version)
    .enablePositionalOptions()
    .addHelpText('after', EXIT_CODES);
  for (const name of namesFor(argv)) {
    const create = await commands[name]();
    program.addCommand(create(context), { hidden: name === HIDDEN });
  }
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .showHelpAfterError(
        `(${command === program ? 'nightsweep' : `nightsweep ${command.name()}`} --help shows all options)`,
      )
      .configureOutput({
        writeOut: context.stdout,
        writeErr: (text) => {
          context.stderr(text.trimEnd());
        },
      });
  }
  return program;
}

function namesFor([first, ...rest]: readonly string[]): readonly CommandName[] {
  const all = Object.keys(commands) as CommandName[];
  const named = (word: string | undefined) => all.filter((name) => name === word);
  // `complete -- rank --st` needs `rank`; `complete -- ra` needs every name.
  const wanted =
    first === HIDDEN && rest.length > 2 ? [...named(HIDDEN), ...named(rest[1])] : named(first);
  return wanted.length === 0 || (first === HIDDEN && wanted.length === 1) ? all : wanted;
}
