import type { Clock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { type ChunkRate, type GeneratorProof, proveGenerator } from '../load/prove-generator.ts';
import { assumedTokensPerSecond } from './estimate.ts';

/** A configuration may be this much faster than what is known of the server. */
const HEADROOM = 1.5;
/** A machine may be busy for a moment; three proofs in a row are no moment. */
const ATTEMPTS = 3;
/** Below this share of the planned speed every measurement would be that of the generator. */
const USELESS_FRACTION = 0.5;

/**
 * The most chunks that the load generator must take: those of the concurrency with the highest
 * throughput, as recorded for the baseline or else assumed, on as many streams as the profile has
 * at most. Every token is taken for a chunk of its own.
 */
export function plannedChunkRate({ profile, baseline }: Study): ChunkRate {
  const streams = Math.max(...profile.keys());
  const recorded = baseline.expect?.values;
  const totals = [...profile.keys()].map(
    (concurrency) => recorded?.get(concurrency) ?? assumedTokensPerSecond(concurrency),
  );
  return { streams, chunksPerSecond: (HEADROOM * Math.max(...totals)) / streams };
}

/**
 * Proves before a sweep, while nothing has been touched, that the load generator takes what the
 * study plans (field report C15). Returns a warning where it only just does not: each measurement
 * tells by its own self-check whether it suffered.
 *
 * @param prove `proveGenerator`, on the machine that makes the load.
 * @throws UserError when the generator takes less than half of it: the night would be wasted.
 */
export async function proveLoad(
  study: Study,
  clock: Clock,
  prove: (rate: ChunkRate) => Promise<GeneratorProof> = (rate) => proveGenerator(rate, clock),
): Promise<string | undefined> {
  const rate = plannedChunkRate(study);
  let best = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { held, speedFraction } = await prove(rate);
    if (held) return undefined;
    best = Math.max(best, speedFraction);
  }
  const planned = `${String(rate.streams)} streams of ${rate.chunksPerSecond.toFixed(0)} chunks/s`;
  const what = `the load generator reaches ${(best * 100).toFixed(0)} % of ${planned} on this machine`;
  if (best >= USELESS_FRACTION) {
    return `warning: ${what}; measurements that suffer are marked client-limited`;
  }
  throw new UserError(`${what}: it would be measured instead of the server`, {
    hint: 'end what else runs here, or lower the highest concurrency of the profile',
  });
}
