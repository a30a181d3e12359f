import type { Connection } from './connection.ts';
import type { RunInProgress } from './run-in-progress.ts';

/**
 * Drives a closed loop: one place per connection, each sends its next request as soon as the last
 * has ended and the think time is over. Requests of a session stay in one place, with the pauses
 * that the session has.
 */
export async function closedLoop(
  run: RunInProgress,
  connections: readonly Connection[],
): Promise<void> {
  const { requests, prompts, arrivals } = run.plan;
  const thinkTimeMs = arrivals?.kind === 'closed' ? (arrivals.thinkTimeMs ?? 0) : 0;
  const turns = prompts.turns ?? 1;
  let next = 0;

  /** The requests of one session in one place; resolves with the moment the last one ended. */
  const session = async (connection: Connection, first: number, startMs: number) => {
    let freeAtMs = startMs;
    for (let index = first; index < Math.min(first + turns, requests); index += 1) {
      const pauseMs = index > first ? (prompts.pauseMs?.(index) ?? 0) : 0;
      const dueAtMs = freeAtMs + pauseMs + (freeAtMs > 0 ? thinkTimeMs : 0);
      if (dueAtMs > freeAtMs) await run.waitUntil(dueAtMs);
      if (!run.isRunning) break;
      freeAtMs = await run.perform(connection, index, dueAtMs);
    }
    return freeAtMs;
  };
  const place = async (connection: Connection): Promise<void> => {
    let freeAtMs = 0;
    while (run.isRunning && next < requests) {
      const first = next;
      next += turns;
      freeAtMs = await session(connection, first, freeAtMs);
    }
  };
  await Promise.all(connections.map(place));
}
