import type { PointMetrics } from '../metrics/point-metrics.ts';
import { unknownFigures } from '../ranking/cell-sample.ts';
import type {
  StoredLaunch,
  StoredMeasurement,
  StoredRequest,
  StoredStudy,
  StoredTrial,
  StudyStore,
} from '../storage/study-store.ts';
import { markText } from './marks.ts';

/** A record of an export: snake_case keys with units, values that JSON can hold. */
export type ExportRecord = Readonly<Record<string, unknown>>;

export interface StudyRecords {
  readonly study: ExportRecord;
  readonly trials: readonly ExportRecord[];
  readonly launches: readonly ExportRecord[];
  readonly measurements: readonly ExportRecord[];
  /** Empty unless asked for: there are hundreds per measurement. */
  readonly requests: readonly ExportRecord[];
}

/** Everything a study holds, ready for export; what is unknown is null. */
export function studyRecords(
  store: StudyStore,
  study: StoredStudy,
  { withRequests = false }: { readonly withRequests?: boolean } = {},
): StudyRecords {
  const trials = store.trials(study.id);
  const numbers = new Map(trials.map(({ id, number }) => [id, number]));
  const numberOf = (trialId: number): number | null => numbers.get(trialId) ?? null;
  const measurements = store.measurements(study.id);
  return {
    study: studyRecord(study),
    trials: trials.map(trialRecord),
    launches: store.launches(study.id).map((launch) => launchRecord(launch, numberOf)),
    measurements: measurements.map((m) => measurementRecord(m, numberOf)),
    requests: withRequests
      ? measurements.flatMap(({ id }) =>
          store.requests(id).map((request) => requestRecord(id, request)),
        )
      : [],
  };
}

function studyRecord(study: StoredStudy): ExportRecord {
  const { workload, profile, ...rest } = study;
  return { ...snakeKeys(rest), workload, profile: Object.fromEntries(profile) };
}

function trialRecord({ number, assignment, ...rest }: StoredTrial): ExportRecord {
  return { trial: number, assignment, ...snakeKeys(rest) };
}

function launchRecord(
  launch: StoredLaunch,
  numberOf: (trialId: number) => number | null,
): ExportRecord {
  const { id, trialId, environment, versions, effective, ...rest } = launch;
  // Names inside these are the server's and the user's own; they stay as they are.
  return {
    launch: id,
    trial: numberOf(trialId),
    ...snakeKeys(rest),
    environment,
    versions,
    effective,
  };
}

function measurementRecord(
  measurement: StoredMeasurement,
  numberOf: (trialId: number) => number | null,
): ExportRecord {
  const { id, trialId, launchId, round, repeat, startedAtMs, metrics, conditions } = measurement;
  const { marks, ...figures } = withUnknown(metrics);
  return {
    measurement: id,
    trial: numberOf(trialId),
    launch: launchId,
    round,
    repeat,
    started_at_ms: startedAtMs,
    ...snakeKeys(figures),
    marks: marks.map((mark) => ({ ...mark, text: markText(mark).text })),
    conditions,
  };
}

function requestRecord(measurement: number, request: StoredRequest): ExportRecord {
  return { measurement, ...snakeKeys(request) };
}

/** Figures that an imported measurement does not know become null. */
function withUnknown(metrics: PointMetrics): PointMetrics {
  const unknown = unknownFigures(metrics);
  const hide = (value: unknown, path: string): unknown => {
    if (unknown.has(path)) return null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, hide(inner, `${path}.${key}`)]),
    );
  };
  return Object.fromEntries(
    Object.entries(metrics).map(([key, value]) => [key, hide(value, key)]),
  ) as unknown as PointMetrics;
}

/** The object with snake_case keys, deeply; arrays stay as they are. */
function snakeKeys(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) => [
      key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase(),
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? snakeKeys(inner)
        : inner,
    ]),
  );
}
