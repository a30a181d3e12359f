import { Command } from '@commander-js/extra-typings';
import type { CliContext } from './context.ts';

/** `simulate`: everything behind the word goes to the simulated server as it is. */
export function simulateCommand(context: CliContext) {
  return new Command('simulate')
    .summary('run a simulated SGLang server')
    .description(
      'Runs a simulated SGLang 0.5.23 server: takes SGLang’s own flags, in place of\n`python3 -m sglang.launch_server`, and needs no GPU, model or Python.',
    )
    .argument('[flags...]', "SGLang's flags, and the simulator's own")
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .addHelpText(
      'after',
      '\nExamples:\n  nightsweep simulate --model-path any --port 30000 --speed 20\n  nightsweep simulate --help',
    )
    .action(async (flags) => {
      const { runSimulator } = await import('../simulator/main.ts');
      context.setExitCode(await runSimulator(flags, process));
    });
}
