import { changedParameters } from '../ranking/changed-parameters.ts';
import { type Assignment, ENV_PREFIX, type FlagValue } from '../search-space/assignment.ts';

/**
 * An assignment as a person would type it: `--speculative-num-steps 2 --enable-x no --env A=1`.
 * Absent flags are shown as `no --flag`, since they are a choice too.
 */
export function assignmentText(assignment: Assignment): string {
  const words = Object.entries(assignment).map(([name, value]) => flagText(name, value));
  return words.length === 0 ? 'as production' : words.join('  ');
}

/** What a trial changes of the baseline, as a person would type it. */
export function changesText(assignment: Assignment, baseline: Assignment | undefined): string {
  const changed = new Set(changedParameters(assignment, baseline));
  return assignmentText(
    Object.fromEntries(Object.entries(assignment).filter(([name]) => changed.has(name))),
  );
}

function flagText(name: string, value: FlagValue): string {
  const isEnvironment = name.startsWith(ENV_PREFIX);
  const shown = isEnvironment ? name.slice(ENV_PREFIX.length) : name;
  if (value === null || value === false) return `no ${shown}`;
  if (value === true) return shown;
  const text = Array.isArray(value) ? value.map(String).join(' ') : String(value);
  return isEnvironment ? `${shown}=${text}` : `${shown} ${text}`;
}
