/** Fewest requests of a point, and waves where there are more (the reference benchmark's rule). */
const MIN_REQUESTS = 4;
const WAVES = 2;
/** An open loop lasts this long unless told otherwise, seconds: bursts average out. */
const OPEN_LOOP_SECONDS = 60;
const MIN_OPEN_LOOP_REQUESTS = 30;

/**
 * Requests of one point. As configured, else `max(4, 2 x concurrency)`, never below the
 * concurrency; of an open loop a minute of its rate. Sessions are counted whole: of `turns`
 * requests each, as many as there would be requests without turns.
 */
export function requestsOfPoint(
  concurrency: number,
  configured?: number,
  {
    turns = 1,
    requestsPerSecond,
  }: { readonly turns?: number | undefined; readonly requestsPerSecond?: number | undefined } = {},
): number {
  if (requestsPerSecond !== undefined) {
    const minute = Math.ceil(requestsPerSecond * OPEN_LOOP_SECONDS);
    return configured ?? Math.max(MIN_OPEN_LOOP_REQUESTS, minute);
  }
  if (configured !== undefined) {
    return Math.ceil(Math.max(configured, concurrency * turns) / turns) * turns;
  }
  return Math.max(MIN_REQUESTS, WAVES * concurrency) * turns;
}
