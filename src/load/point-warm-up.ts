import type { Dialect } from './dialect.ts';
import type { LoadRun } from './load-run.ts';
import type { PointDeps, PointOptions } from './point-options.ts';
import { pointPrompts, warmUpPlan } from './point-plan.ts';
import { runLoad } from './run-load.ts';
import { type FlushResult, flushCache } from './server-probe.ts';
import { type WarmUp, warmUpUntilSettled } from './warm-up.ts';

/** What happened before a measurement. */
export interface Prepared {
  readonly first?: WarmUp;
  readonly flush?: FlushResult;
  readonly second?: WarmUp;
  /** The window that a limit ended: there is nothing after it. */
  readonly cutShort?: LoadRun;
}

/**
 * Warms the server up for a point: windows with other prompts until they settle, a cache flush,
 * then windows until one is as fast as before the flush. See `measurePoint` for the order and why.
 */
export async function prepareServer(
  options: PointOptions,
  dialect: Dialect | undefined,
  { clock, signal }: PointDeps,
): Promise<Prepared> {
  if (options.warmUpRequests === 0) return {};
  const { timeScale, workload, warmUpLimitSeconds: limitSeconds } = options;
  const windows = (phase: string, expected?: number) =>
    warmUpUntilSettled(
      async (number) => {
        signal?.throwIfAborted();
        const plan = warmUpPlan(options, dialect, `${phase}/${number}`);
        const run = await runLoad(plan, { clock, signal });
        signal?.throwIfAborted();
        return run;
      },
      { timeScale, expected, limitSeconds },
    );
  const first = await windows('warm-up');
  if (first.cutShort !== undefined) return { first, cutShort: first.cutShort };
  const { cacheable } = pointPrompts(options, 'measure');
  if (cacheable || workload.api !== 'native') return { first };
  const flush = await flushCache(options, clock, signal);
  const second = await windows('second warm-up', first.settled ? first.curve.at(-1) : undefined);
  const { cutShort } = second;
  return { first, flush, second, ...(cutShort === undefined ? {} : { cutShort }) };
}
