#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { CommanderError } from '@commander-js/extra-typings';
import { EXIT } from '../errors.ts';
import { Interrupted, reportError } from './boundary.ts';
import type { CliContext } from './context.ts';
import { createProgram } from './program.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
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
    version: packageVersion(),
    stdout: (text) => process.stdout.write(text),
    stderr: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY,
    color: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
    environment: process.env,
    takeSignals,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  // A reader that closes early (`nightsweep rank | head`) is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCode);
    context.stderr(`error: the output cannot be written: ${error.message}`);
    process.exit(EXIT.operatorError);
  });
  try {
    const program = await createProgram(context, argv);
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed it: help and version are no mistakes, everything else is the user's.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.operatorError;
    const debug = process.env['NIGHTSWEEP_DEBUG'] !== undefined;
    return reportError(error, context.stderr, { debug });
  }
}

process.exitCode = await main(process.argv.slice(2));
