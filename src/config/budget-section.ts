import { readCount } from './number-fields.ts';
import { type Problems, show } from './problems.ts';
import { parseTimeOfDay } from './quantities.ts';
import type { BudgetConfig } from './study.ts';
import type { StudyFile } from './study-schema.ts';

/** When a sweep ends though there is more to try; mistakes go to `problems`. */
export function readBudget(
  section: NonNullable<StudyFile['budget']>,
  problems: Problems,
): BudgetConfig {
  const { until, hours, launches } = section;
  const time = until === undefined ? undefined : parseTimeOfDay(until);
  if (until !== undefined && time === undefined) {
    problems.add(['budget', 'until'], `expected a time of day, got ${show(until)}`, {
      hint: 'write it as "07:00"',
    });
  }
  if (hours !== undefined && !(hours > 0 && Number.isFinite(hours))) {
    problems.add(['budget', 'hours'], `expected hours above zero, got ${show(hours)}`);
  }
  return {
    ...(time !== undefined && { until: time }),
    ...(hours !== undefined && { hours }),
    ...(launches !== undefined && {
      launches: readCount(['budget', 'launches'], launches, problems),
    }),
  };
}
