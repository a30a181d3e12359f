import { BodyQueue } from './body-queue.ts';
import { closedLoop } from './closed-loop.ts';
import { Connection, openConnections } from './connection.ts';
import type { LoadPlan, LoadRun } from './load-run.ts';
import { openLoop } from './open-loop.ts';
import { type LoadRunDeps, RunInProgress } from './run-in-progress.ts';
import { serverAddress } from './server-url.ts';

/**
 * Runs a load plan. All sockets are open before the clock starts (an open loop adds some when it
 * must). Whatever ends it, the run returns in time with what was measured, and nothing of it is
 * left on the server.
 *
 * Throws UserError when the server cannot be reached or the API cannot take the prompts.
 */
export async function runLoad(plan: LoadPlan, deps: LoadRunDeps): Promise<LoadRun> {
  const { origin } = serverAddress(plan.baseUrl);
  const bodies = new BodyQueue(plan);
  const connections = await openConnections(origin, plan.concurrency);
  try {
    const { arrivals } = plan;
    return await new RunInProgress(plan, bodies, deps).run((run) =>
      arrivals?.kind === 'open'
        ? openLoop(run, arrivals, connections, () => new Connection(origin))
        : closedLoop(run, connections),
    );
  } finally {
    for (const connection of connections) connection.abort();
  }
}
