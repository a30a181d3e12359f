import { type Arrivals, arrivalTimes } from './arrivals.ts';
import type { Connection } from './connection.ts';
import type { RunInProgress } from './run-in-progress.ts';

/**
 * Drives an open loop: every request at its own time, on an idle connection or a new one. A send
 * that comes late (a busy client) is still timed from when it was due, so that no queue is hidden
 * (field report C19).
 */
export async function openLoop(
  run: RunInProgress,
  arrivals: Extract<Arrivals, { kind: 'open' }>,
  connections: Connection[],
  connect: () => Connection,
): Promise<void> {
  const idle = [...connections];
  const answering: Promise<void>[] = [];
  const answer = async (index: number, dueAtMs: number): Promise<void> => {
    let connection = idle.pop();
    if (connection === undefined) {
      connection = connect();
      connections.push(connection);
    }
    await run.perform(connection, index, dueAtMs);
    idle.push(connection);
  };
  for (const [index, dueAtMs] of arrivalTimes(arrivals, run.plan.requests).entries()) {
    await run.waitUntil(dueAtMs);
    if (!run.isRunning) break;
    answering.push(answer(index, dueAtMs));
  }
  await Promise.all(answering);
}
