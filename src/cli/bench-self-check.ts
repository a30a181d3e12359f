import type { BenchOptions } from '../load/bench.ts';
import type { PointDeps } from '../load/point-options.ts';
import { proveGenerator } from '../load/prove-generator.ts';
import type { CliContext } from './context.ts';

/** No server is known to stream faster to one request than this. */
const CHUNKS_PER_SECOND = 100;

/** Says whether this machine takes as many streams as will be in flight (field report C15). */
export async function selfCheck(
  { concurrencies }: BenchOptions,
  { clock, signal }: PointDeps,
  context: CliContext,
): Promise<void> {
  const streams = Math.max(...concurrencies);
  const rate = { streams, chunksPerSecond: CHUNKS_PER_SECOND };
  const { held, speedFraction, selfCheck } = await proveGenerator(rate, clock, signal);
  const planned = `${String(streams)} streams of ${String(CHUNKS_PER_SECOND)} chunks/s`;
  const cpu = `${(selfCheck.cpuFraction * 100).toFixed(0)} % of a core, built-in server included`;
  context.stderr(
    held
      ? `self-check: ${planned} are taken in full (${cpu})`
      : `self-check: ${planned} are taken at ${(speedFraction * 100).toFixed(0)} % of their speed: this machine may be the limit`,
  );
}
