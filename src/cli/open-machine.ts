import { systemClock } from '../clock.ts';
import { localTarget } from '../server/local-target.ts';
import { acquireLock, targetLockPath } from '../server/lock.ts';
import { isSimulated, preflight } from '../study/preflight.ts';
import type { PreparedSweep } from '../study/prepare.ts';

import { proveLoad } from '../study/prove-load.ts';
import { localRoad } from './load-road.ts';

import {
  gpuGateNotices,
  type MachineOptions,
  type OpenedMachine,
  preflightOptions,
  watchingGpus,
} from './machine.ts';
import type { Place } from './reach-target.ts';
import { openUnitMachine } from './unit-machine.ts';

/**
 * Ends leftovers of an interrupted sweep, and refuses a machine on which the sweep would fail.
 *
 * @throws UserError naming what is wrong and what to do; production is as it was.
 */
export async function openMachine(
  prepared: PreparedSweep,
  place: Place,
  options: MachineOptions,
): Promise<OpenedMachine> {
  const { unit } = place;
  // A simulated server keeps another clock, which only its measurements know.
  const warning = isSimulated(prepared.production)
    ? undefined
    : await proveLoad(prepared.study, systemClock);
  const opened =
    unit === undefined
      ? await openLocalMachine(prepared, place, options)
      : await openUnitMachine(prepared, { ...place, unit }, options);
  return warning === undefined ? opened : { ...opened, notices: [warning, ...opened.notices] };
}

async function openLocalMachine(
  prepared: PreparedSweep,
  place: Place,
  options: MachineOptions,
): Promise<OpenedMachine> {
  const { study } = prepared;
  const clock = systemClock;
  const lock = await acquireLock({
    path: targetLockPath(study.target.baseUrl),
    what: `the target ${study.target.baseUrl}`,
    clock,
  });
  try {
    const target = localTarget({ clock, stopSeconds: study.start.stopSeconds });
    const ended = await target.cleanUp();
    const environmentProblem = await preflight(preflightOptions(prepared, place, options));
    return {
      notices: [
        ...(lock.takenOver === undefined ? [] : [lock.takenOver]),
        ...(await gpuGateNotices(prepared, place)),
      ],
      take: async (store, stored) =>
        Promise.resolve({
          target,
          baseUrl: study.target.baseUrl,
          takePoint: localRoad.takePoint,
          notices: [],
          ended,
          environmentProblem,
          measuring: watchingGpus(prepared, place, store, stored),
          giveBack: async () => Promise.resolve([]),
        }),
      [Symbol.asyncDispose]: async () => lock[Symbol.asyncDispose](),
    };
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}
