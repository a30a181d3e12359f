import type { StoredStudy, StudyStore } from '../storage/study-store.ts';
import type { CliContext } from './context.ts';

/** Says on standard error that a study has trials that were not tried yet: there may be a better one. */
export function tellOfUnfinished(
  store: StudyStore,
  { id }: StoredStudy,
  { stderr }: Pick<CliContext, 'stderr'>,
): void {
  const trials = store.trials(id);
  const left = trials.filter(({ state }) => state === 'planned').length;
  if (left === 0) return;
  stderr(
    `note: ${String(left)} of ${String(trials.length)} trials were not tried yet; this is about the others, and the same sweep goes on with them`,
  );
}
