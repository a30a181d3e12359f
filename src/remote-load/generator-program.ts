import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../clock.ts';
import { measurePoint } from '../load/measure-point.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import type { GeneratorJob, GeneratorLine, GeneratorResult } from './generator-messages.ts';

/**
 * The load generator as it runs on the server: `node load-generator.cjs JOB RESULT`. The build
 * makes it one file without dependencies. Takes one measurement, tells its progress on standard
 * output, and leaves the result in a file that is there as a whole or not at all.
 */
const PROGRESS_EVERY_MS = 500;

async function main(jobPath: string, resultPath: string): Promise<void> {
  const { options } = JSON.parse(readFileSync(jobPath, 'utf8')) as GeneratorJob;
  // The job holds the server's key: it is needed no more.
  rmSync(jobPath);
  const result = await measure(options);
  const draft = `${resultPath}.draft`;
  writeFileSync(draft, JSON.stringify(result), { mode: 0o600 });
  renameSync(draft, resultPath);
}

async function measure(options: GeneratorJob['options']): Promise<GeneratorResult> {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  try {
    const point = await measurePoint(options, {
      clock: systemClock,
      onPhase: (phase) => {
        tell({ phase });
      },
      onProgress: (progress) => {
        if (systemClock.nowMs() - toldAtMs < PROGRESS_EVERY_MS) return;
        toldAtMs = systemClock.nowMs();
        tell({ progress });
      },
    });
    return { state: 'measured', point };
  } catch (error) {
    const known = isNetworkFailure(error);
    const message = error instanceof Error ? error.message : String(error);
    const text = known || !(error instanceof Error) ? message : (error.stack ?? message);
    return { state: 'failed', message: text, isNetworkFailure: known };
  }
}

function tell(line: GeneratorLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const [jobPath, resultPath] = process.argv.slice(2);
if (jobPath === undefined || resultPath === undefined) {
  process.stderr.write('usage: node load-generator.cjs JOB RESULT\n');
  process.exitCode = 2;
} else {
  main(jobPath, resultPath).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : 'failed'}\n`);
    process.exitCode = 1;
  });
}
