import { UserError } from '../errors.ts';
import { runSimulator } from './main.ts';

/** The simulator as a program of its own, for tests that need a process. */
try {
  process.exitCode = await runSimulator(process.argv.slice(2), process);
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 2;
}
process.exit();
