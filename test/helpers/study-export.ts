import type { SimulatedStudy } from './simulated-study.ts';

export interface ExportJson {
  readonly study: Readonly<Record<string, unknown>>;
  readonly trials: readonly {
    readonly trial: number;
    readonly assignment: Readonly<Record<string, unknown>>;
    readonly is_baseline: boolean;
    readonly state: string;
    readonly cause: string | null;
    readonly reason: string | null;
  }[];
  readonly launches: readonly Readonly<Record<string, unknown>>[];
  readonly measurements: readonly Readonly<Record<string, unknown>>[];
  readonly requests: readonly Readonly<Record<string, unknown>>[];
}

/** `export --format json` of a study. */
export function exported(study: SimulatedStudy, ...more: readonly string[]): Promise<ExportJson> {
  return study.json<ExportJson>('export', '--format', 'json', ...more);
}

/** `trial@concurrency` of every measurement, in the order of measuring. */
export function points({ measurements }: ExportJson): readonly string[] {
  return measurements.map((m) => `${String(m['trial'])}@${String(m['concurrency'])}`);
}
