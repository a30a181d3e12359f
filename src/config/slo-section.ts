import type { Slos } from '../metrics/goodput.ts';
import { readSeconds } from './number-fields.ts';
import type { Problems } from './problems.ts';
import type { StudyFile } from './study-schema.ts';

type SloSection = NonNullable<NonNullable<StudyFile['objective']>['slo']>;

/**
 * `objective.slo` in ms as `slos`; nothing where it names no limit. Mistakes go to `problems`, and
 * so does a limit on goodput without any objective.
 */
export function readSlos(
  section: SloSection | undefined,
  limits: readonly string[],
  problems: Problems,
): { readonly slos?: Slos } {
  const entries = (['ttft', 'tpot', 'e2e'] as const).flatMap((key) => {
    const written = section?.[key];
    if (written === undefined) return [];
    return [[`${key}Ms`, readSeconds(['objective', 'slo', key], written, problems) * 1000]];
  });
  const limited = limits.findIndex((text) => text.trim().startsWith('goodput_fraction'));
  if (entries.length === 0 && limited !== -1) {
    const hint = 'add objective.slo, such as slo: {ttft: 2s, tpot: 50ms}';
    problems.add(['objective', 'limits', limited], 'there is no slo that requests could keep', {
      hint,
    });
  }
  return entries.length === 0 ? {} : { slos: Object.fromEntries(entries) as Slos };
}
