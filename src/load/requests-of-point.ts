/** Fewest requests of a point, and waves where there are more (the reference benchmark's rule). */
const MIN_REQUESTS = 4;
const WAVES = 2;

/** Requests of one point: as configured, else `max(4, 2 x concurrency)`; never below the concurrency. */
export function requestsOfPoint(concurrency: number, configured?: number): number {
  if (configured !== undefined) return Math.max(configured, concurrency);
  return Math.max(MIN_REQUESTS, WAVES * concurrency);
}
