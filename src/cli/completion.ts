import { Command, type CommandUnknownOpts, type Option } from '@commander-js/extra-typings';
import { UserError } from '../errors.ts';
import { EXPLANATION_KINDS } from '../report/explanations.ts';
import { completionOf, type Sources } from './completion-candidates.ts';
import { completionScripts } from './completion-scripts.ts';
import type { CliContext } from './context.ts';
import { openDatabase } from './open-database.ts';
import { oneOf } from './options.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `completion`: the script that makes a shell complete commands, options, studies and files. */
export function completionCommand(context: CliContext) {
  return new Command('completion')
    .summary('print the completion script of your shell')
    .description(
      'Prints the script with which a shell completes commands, options, names of studies and study\nfiles of nightsweep.',
    )
    .argument('<shell>', SHELLS.join(', '), oneOf(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep completion bash > ~/.local/share/bash-completion/completions/nightsweep\n  nightsweep completion zsh > ~/.zfunc/_nightsweep\n  nightsweep completion fish > ~/.config/fish/completions/nightsweep.fish',
    )
    .action((shell) => {
      context.stdout(completionScripts[shell]);
    });
}

/** `complete`: what the scripts call; hidden. Prints `value TAB description` and a last line `:files`. */
export function completeCommand(context: CliContext) {
  const command = new Command('complete')
    .argument('[words...]', 'words of the command line behind nightsweep, the unfinished one last')
    .helpOption(false)
    .action(async (words) => {
      const program: CommandUnknownOpts | null = command.parent;
      if (program === null) throw new Error('complete is a command of the program');
      const { candidates, files } = await completionOf(program, words, sources());
      const lines = candidates.map(({ value, about }) => `${value}\t${about}`);
      const last = files === null ? ':none' : `:files ${files.join(' ')}`.trimEnd();
      context.stdout(`${[...lines, last].join('\n')}\n`);
    });
  return command;
}

function sources(): Sources {
  return {
    studies: async (path) => {
      try {
        using store = await openDatabase(path, { readOnly: true });
        return store.studies().map(({ id, name }) => ({
          name,
          trials: store.trials(id).map(({ number }) => number),
        }));
      } catch (error) {
        // A database that is not there, or is no database, completes to nothing.
        if (error instanceof UserError) return [];
        throw error;
      }
    },
    words: () => Object.values(EXPLANATION_KINDS).flatMap((words) => Object.keys(words)),
    choices: choicesOf,
  };
}

/** Choices of a parser that {@link oneOf} made. */
function choicesOf(parser: Option['parseArg']): readonly string[] {
  const choices: unknown = parser === undefined ? [] : Reflect.get(parser, 'choices');
  return Array.isArray(choices) ? choices.map(String) : [];
}
