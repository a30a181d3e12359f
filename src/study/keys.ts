import type { MeasurementKey } from '../storage/study-store.ts';

/**
 * Measurements of one launch, in the order they are taken: ascending concurrency, all of it once
 * before the next repeat, so that a slow change of the machine does not fall on one concurrency.
 */
export function keysOfRound(
  round: number,
  concurrencies: readonly number[],
  repeats: number,
): readonly MeasurementKey[] {
  const ascending = [...concurrencies].sort((a, b) => a - b);
  return Array.from({ length: repeats }, (_, repeat) =>
    ascending.map((concurrency) => ({ round, concurrency, repeat })),
  ).flat();
}

/** Those of `wanted` that are not yet in `measured`. */
export function missingKeys(
  wanted: readonly MeasurementKey[],
  measured: readonly MeasurementKey[],
): readonly MeasurementKey[] {
  const name = (key: MeasurementKey) =>
    [key.round, key.concurrency, key.repeat].map(String).join('/');
  const have = new Set(measured.map(name));
  return wanted.filter((key) => !have.has(name(key)));
}
