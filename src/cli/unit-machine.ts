import { systemClock } from '../clock.ts';
import type { Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { requirePassed } from '../server/preflight-check.ts';
import { type HeldUnit, holdUnit } from '../server/systemd-hold.ts';
import { DEFAULT_LEASE_SECONDS } from '../server/systemd-lease.ts';
import { preflightSystemd } from '../server/systemd-preflight.ts';
import type { SystemdService } from '../server/systemd-service.ts';
import { processesOf } from '../server/systemd-stop.ts';
import { showUnit } from '../server/systemd-unit-state.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import { preflight } from '../study/preflight.ts';
import type { PreparedSweep } from '../study/prepare.ts';
import type { Measurer } from '../study/services.ts';
import { keepLoadFrom, type LoadRoad, openLoadRoad, wantedLoadFrom } from './load-road.ts';
import {
  gpuGateNotices,
  type HeldMachine,
  type MachineOptions,
  type OpenedMachine,
  preflightOptions,
  watchingGpus,
} from './machine.ts';
import type { Place } from './reach-target.ts';

/** A place with a unit. */
export type UnitPlace = Place & { readonly unit: NonNullable<Place['unit']> };

/** Key under which a sweep keeps its copy of the journal: `restore` works with it alone. */
export const JOURNAL_META = 'systemd-journal';

/** Median round trip to the server in ms, when the load went through ssh. */
const ROUND_TRIP_META = 'ssh-round-trip-ms';

/** For what lies between the phases of a launch: stops, GPU memory, a broken link's return. */
const SLACK_SECONDS = 900;

/** A live tuner may take this long to bring production back before the timer does. */
const RESTORE_SECONDS = 3600;

/** A systemd unit, here or behind ssh: checked, and production's command proven to be its own. */
export async function openUnitMachine(
  prepared: PreparedSweep,
  place: UnitPlace,
  options: MachineOptions,
): Promise<OpenedMachine> {
  const { study, production } = prepared;
  const { unit, ssh } = place;
  const { systemd } = production;
  if (systemd === undefined) throw new Error('a unit was not read through systemd');
  requireRunsAsWritten(systemd, unit.unit);
  const leaseSeconds = leaseOf(study);
  const checks = await preflightSystemd(unit, { leaseSeconds });
  requirePassed(checks);
  const { invocationId } = await showUnit(unit);
  let launches = 0;
  const environmentProblem = await preflight({
    ...preflightOptions(prepared, place, options),
    serving: {
      pids: new Set(await processesOf(unit, invocationId)),
      hasGivenWay: () => launches > 0,
    },
  });
  const road = await roadTo(study.target.baseUrl, ssh);
  return {
    notices: [
      ...checks.flatMap(({ state, found }) => (state === 'warning' ? [`warning: ${found}`] : [])),
      ...(await gpuGateNotices(prepared, place)),
    ],
    take: async (store, stored): Promise<HeldMachine> => {
      if (road.roundTripMs !== undefined) {
        store.setStudyMeta(stored.id, ROUND_TRIP_META, road.roundTripMs);
      }
      const openLoad = async () => openStudyLoad({ study, place, road, options }, store, stored);
      const watch = watchingGpus(prepared, place, store, stored);
      const held = await holdUnit(unit, {
        study: study.name,
        production: {
          environment: systemd.environment,
          prefix: systemd.service.command.prefix,
          unset: systemd.service.unset,
        },
        leaseSeconds,
        clock: systemClock,
        takeOver: options.takeOver,
        stopLimits: { stopSeconds: study.start.stopSeconds, killSeconds: 60 },
        keepJournal: (journal) => {
          store.setStudyMeta(stored.id, JOURNAL_META, journal);
        },
      });
      const regain = async () => {
        if (!(await held.regain())) return false;
        // Production has its GPUs again.
        launches = 0;
        options.tell(
          `${unit.unit} was restored by its own machine (a reboot, or a link broken for longer than the lease): taken again`,
        );
        return true;
      };
      const load = await openLoadHeld(held, openLoad);
      return {
        target: {
          start: async (request) => {
            await regain();
            enterStart(held, study);
            launches += 1;
            try {
              return await held.target.start(request);
            } catch (error) {
              // It may have been lost in the middle of the start.
              if (!(await regain())) throw error;
              launches += 1;
              return held.target.start(request);
            }
          },
          cleanUp: async () => held.target.cleanUp(),
        },
        baseUrl: road.baseUrl,
        takePoint: load.takePoint,
        notices: load.notice === undefined ? [] : [load.notice],
        ended: held.mended,
        environmentProblem: async (signal) => {
          await regain();
          return environmentProblem(signal);
        },
        measuring: (measurer) => watch(load.measuring(inPhases(measurer, held, study))),
        giveBack: async (prove) => {
          // While the unit is still ours: the next sweep has its own load in the same place.
          await closeLoad(load, options);
          return giveBackUnit(held, prove);
        },
      };
    },
    [Symbol.asyncDispose]: async () => road[Symbol.asyncDispose](),
  };
}

/** Opens the load of a unit that is held; gives the unit back, unchanged as it is, when that fails. */
async function openLoadHeld(held: HeldUnit, open: () => Promise<LoadRoad>): Promise<LoadRoad> {
  try {
    return await open();
  } catch (error) {
    await held.giveBack();
    throw error;
  }
}

/** What stays behind on the server keeps no production away: said, and no more. */
async function closeLoad(load: LoadRoad, { tell }: Pick<MachineOptions, 'tell'>): Promise<void> {
  try {
    await load[Symbol.asyncDispose]();
  } catch (error) {
    tell(`left on the server: ${error instanceof Error ? error.message : 'files of the load'}`);
  }
}

/** Opens the way of the load that the study's measurements need, and remembers it. */
export async function openStudyLoad(
  {
    study,
    place,
    road,
    options: { tell },
  }: {
    readonly study: Study;
    readonly place: UnitPlace;
    readonly road: Pick<Road, 'roundTripMs'>;
    readonly options: Pick<MachineOptions, 'tell'>;
  },
  store: StudyStore,
  stored: StoredStudy,
): Promise<LoadRoad> {
  const load = await openLoadRoad({
    study,
    place,
    roundTripMs: road.roundTripMs,
    limitSeconds: phaseSeconds(study),
    wanted: wantedLoadFrom(study, store, stored),
    tell,
  });
  keepLoadFrom(store, stored, load);
  return load;
}

/** Gives the unit back, which the timer does not do meanwhile. Returns what was done. */
export async function giveBackUnit(
  held: HeldUnit,
  prove: () => Promise<void>,
): Promise<readonly string[]> {
  held.lease.enterPhase(RESTORE_SECONDS);
  return (await held.giveBack(prove)).steps;
}

/** A start that hangs must not keep production away for ever either. */
export function enterStart({ lease }: Pick<HeldUnit, 'lease'>, { start }: Study): void {
  lease.enterPhase(start.totalSeconds + SLACK_SECONDS);
}

export function leaseOf({ target }: Pick<Study, 'target'>): number {
  return target.leaseSeconds ?? DEFAULT_LEASE_SECONDS;
}

/** @throws UserError when the process that serves is not what the files say. */
export function requireRunsAsWritten({ runsAsWritten }: SystemdService, unit: string): void {
  if (runsAsWritten) return;
  throw new UserError(`${unit} runs another command than its files say`, {
    hint: `Somebody edited it without a restart, or something rewrites its command: compare "systemctl cat ${unit}" with the running process.`,
  });
}

/** A measurement that hangs must not keep production away for ever, however alive the tuner is. */
export function inPhases(
  measurer: Measurer,
  { lease }: Pick<HeldUnit, 'lease'>,
  study: Study,
): Measurer {
  const limitSeconds = phaseSeconds(study);
  return {
    measure: async (request) => {
      lease.enterPhase(limitSeconds);
      return measurer.measure(request);
    },
  };
}

/** Longest measurement with its warm-up, and what a broken link may add. */
function phaseSeconds({ measure }: Study): number {
  return measure.pointTimeoutSeconds + 2 * measure.requestTimeoutSeconds + SLACK_SECONDS;
}

export interface Road extends AsyncDisposable {
  readonly baseUrl: string;
  readonly roundTripMs: number | undefined;
}

/** How requests reach the server: directly, or through a port that ssh forwards. */
export async function roadTo(baseUrl: string, ssh: Place['ssh']): Promise<Road> {
  if (ssh === undefined) {
    return {
      baseUrl,
      roundTripMs: undefined,
      [Symbol.asyncDispose]: async () => Promise.resolve(),
    };
  }
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:') {
    throw new UserError(`${baseUrl} cannot be measured through ssh: its certificate is another's`, {
      hint: 'give target.base_url the plain http address on which the server itself listens',
    });
  }
  const roundTripMs = Math.round((await ssh.roundTripMs()) * 100) / 100;
  const forwarded = await ssh.forwardPort(
    Number(url.port === '' ? '80' : url.port),
    url.hostname.replace(/^\[|\]$/g, ''),
  );
  url.hostname = '127.0.0.1';
  url.port = String(forwarded.port);
  return {
    baseUrl: url.href.replace(/\/+$/, ''),
    roundTripMs,
    [Symbol.asyncDispose]: async () => forwarded[Symbol.asyncDispose](),
  };
}
