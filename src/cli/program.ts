import { Command } from '@commander-js/extra-typings';
import { benchCommand } from './bench.ts';
import { compareCommand } from './compare.ts';
import type { CliContext } from './context.ts';
import { explainCommand } from './explain.ts';
import { exportCommand } from './export.ts';
import { flagsCommand } from './flags.ts';
import { importCommand } from './import.ts';
import { initCommand } from './init.ts';
import { planCommand } from './plan.ts';
import { profileCommand } from './profile.ts';
import { rankCommand } from './rank.ts';
import { recommendCommand } from './recommend.ts';
import { replayCommand } from './replay.ts';
import { reportCommand } from './report.ts';
import { simulateCommand } from './simulate.ts';
import { statusCommand } from './status.ts';
import { sweepCommand } from './sweep.ts';

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

/** Every command in one place. */
const commands = [
  initCommand,
  profileCommand,
  sweepCommand,
  planCommand,
  rankCommand,
  compareCommand,
  recommendCommand,
  reportCommand,
  replayCommand,
  benchCommand,
  simulateCommand,
  importCommand,
  exportCommand,
  statusCommand,
  explainCommand,
  flagsCommand,
] as const;

/** The command line; errors of its use are thrown as CommanderError after being printed. */
export function createProgram(context: CliContext): Command {
  const program = new Command('nightsweep')
    .description(DESCRIPTION)
    .version(context.version)
    .enablePositionalOptions()
    .addHelpText('after', EXIT_CODES);
  for (const create of commands) program.addCommand(create(context));
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
