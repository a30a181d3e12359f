import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../clock.ts';
import type { LoadFrom, Study } from '../config/study.ts';
import { UserError } from '../errors.ts';
import { measurePoint } from '../load/measure-point.ts';
import { openRemoteGenerator, type RemoteGenerator } from '../remote-load/remote-generator.ts';
import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import type { TakePoint } from '../study/measurer.ts';
import type { Measurer } from '../study/services.ts';
import type { Place } from './reach-target.ts';
import { onWholeLink } from './whole-link.ts';

/** Where the measurements of a study were taken from: figures of two ways do not compare. */
const LOAD_FROM_META = 'load-from';

/** One file, made by the build. */
const GENERATOR = fileURLToPath(new URL('../load-generator.cjs', import.meta.url));

/** How the load of a study reaches its server. Disposing removes what was copied there. */
export interface LoadRoad extends AsyncDisposable {
  /** Takes one point; what is stored with it says from where. */
  readonly takePoint: TakePoint;
  /** The measurer as it must be used on this road. */
  readonly measuring: (measurer: Measurer) => Measurer;
  readonly from: 'server' | 'here';
  /** For the user; undefined on a machine without ssh. */
  readonly notice: string | undefined;
}

export interface LoadRoadOptions {
  readonly study: Pick<Study, 'path' | 'target' | 'measure'>;
  readonly place: Place & { readonly unit: NonNullable<Place['unit']> };
  readonly roundTripMs: number | undefined;
  /** Longest measurement, warm-up included, seconds. */
  readonly limitSeconds: number;
  readonly wanted: LoadFrom;
  readonly tell: (text: string) => void;
}

/**
 * Opens the way that is wanted: the load generator on the server itself, else from here through
 * ssh. Call it while the unit is held: two sweeps must not share a folder there.
 *
 * @throws UserError when the load must come from the server and cannot; LoadHostError when the copy
 *   fails.
 */
export async function openLoadRoad(options: LoadRoadOptions): Promise<LoadRoad> {
  const { ssh } = options.place;
  if (ssh === undefined) return localRoad;
  const { wanted, roundTripMs, study } = options;
  if (wanted === 'here') return forwardedRoad(options, '');
  const outcome = existsSync(GENERATOR)
    ? await openRemoteGenerator({
        access: options.place.unit,
        ssh,
        generatorPath: GENERATOR,
        limitSeconds: options.limitSeconds,
        clock: systemClock,
      })
    : { state: 'cannot' as const, why: 'this build has no load generator (npm run build)' };
  if (outcome.state === 'ready') return serverRoad(options, outcome.generator);
  if (wanted === 'auto') return forwardedRoad(options, `${outcome.why}. `);
  throw new UserError(`${study.path}: the load cannot come from ${ssh.name}: ${outcome.why}`, {
    hint: `Install Node 20.19 or later there, or set measure.load_from: here (round trip ${String(roundTripMs)} ms)`,
  });
}

/** No link lies between: this process sends the load. */
export const localRoad: LoadRoad = {
  takePoint: withConditions(measurePoint, { load_from: 'this machine' }),
  measuring: (measurer) => measurer,
  from: 'here',
  notice: undefined,
  [Symbol.asyncDispose]: async () => Promise.resolve(),
};

function serverRoad(
  { study, place: { ssh }, roundTripMs, tell }: LoadRoadOptions,
  generator: RemoteGenerator,
): LoadRoad {
  if (ssh === undefined) throw new Error('the load runs on a server without a link to it');
  const { baseUrl } = study.target;
  return {
    takePoint: withConditions(
      async (point, deps) => generator.measurePoint({ ...point, baseUrl }, deps),
      { load_from: `server, ${generator.runsOn}`, ssh_round_trip_ms: roundTripMs ?? null },
    ),
    measuring: (measurer) => onWholeLink(measurer, ssh, tell, { carriesLoad: false }),
    from: 'server',
    notice: `the load comes from ${ssh.name} itself (${generator.runsOn}): the round trip of ${String(roundTripMs)} ms is no part of the figures`,
    [Symbol.asyncDispose]: async () => generator[Symbol.asyncDispose](),
  };
}

function forwardedRoad(
  { place: { ssh }, roundTripMs, tell }: LoadRoadOptions,
  why: string,
): LoadRoad {
  if (ssh === undefined) throw new Error('nothing is forwarded without a link');
  return {
    takePoint: withConditions(measurePoint, {
      load_from: 'here, through ssh',
      ssh_round_trip_ms: roundTripMs ?? null,
    }),
    measuring: (measurer) => onWholeLink(measurer, ssh, tell),
    from: 'here',
    notice: `${why}the load comes from this machine, through ssh: the round trip to ${ssh.name} is ${String(roundTripMs)} ms and lengthens the wait for the first token, in every trial alike`,
    [Symbol.asyncDispose]: async () => Promise.resolve(),
  };
}

function withConditions(
  take: TakePoint,
  conditions: Readonly<Record<string, string | number | null>>,
): TakePoint {
  return async (options, deps) => {
    const point = await take(options, deps);
    return { ...point, conditions: { ...point.conditions, ...conditions } };
  };
}

/**
 * The way that a study's measurements were taken, which the others must be taken too; else what its
 * file asks for.
 *
 * @throws UserError when its file asks for another.
 */
export function wantedLoadFrom(
  { path, measure }: Pick<Study, 'path' | 'measure'>,
  store: StudyStore,
  stored: StoredStudy,
): LoadFrom {
  const asked = measure.loadFrom ?? 'here';
  const wasReady = store
    .launches(stored.id)
    .some(({ kind, readySeconds }) => kind === 'started' && readySeconds !== null);
  if (!wasReady) return asked;
  // Before there was a choice, all load went through ssh.
  const before = store.studyMeta(stored.id, LOAD_FROM_META) === 'server' ? 'server' : 'here';
  if (asked === 'auto' || asked === before) return before;
  throw new UserError(
    `${path}: measure.load_from is ${asked}, but study ${stored.name} was measured from ${before === 'here' ? 'here, through ssh' : 'the server'}`,
    {
      hint: 'The figures of two ways do not compare: undo the change, or give the study another name.',
    },
  );
}

/** Keeps which way it was. */
export function keepLoadFrom(store: StudyStore, stored: StoredStudy, { from }: LoadRoad): void {
  store.setStudyMeta(stored.id, LOAD_FROM_META, from);
}
