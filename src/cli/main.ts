#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { EXIT } from '../errors.ts';
import { Interrupted, reportError } from './boundary.ts';
import type { CliContext } from './context.ts';
import { createProgram } from './program.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Program arguments that start this program: run from source, tsx's own options are needed too. */
function selfArgv(): readonly string[] {
  return [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)];
}

function takeSignals(): AbortSignal {
  const interrupt = new AbortController();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (interrupt.signal.aborted) process.exit(EXIT.interrupted);
      interrupt.abort(new Interrupted(name));
    });
  }
  return interrupt.signal;
}

async function main(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const context: CliContext = {
    stdout: (text) => process.stdout.write(text),
    stderr: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY,
    environment: process.env,
    self: selfArgv(),
    takeSignals,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  // A reader that closes early (`nightsweep rank | head`) is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCode);
    throw error;
  });
  try {
    await createProgram(context).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    const debug = argv.includes('--debug') || process.env['NIGHTSWEEP_DEBUG'] !== undefined;
    return reportError(error, context.stderr, { debug });
  }
}

process.exitCode = await main(process.argv.slice(2));
