import type { Assignment } from '../search-space/assignment.ts';
import { assignmentText, changesText } from './assignment-text.ts';

/** What a trial changes of the baseline, with commas: HTML joins the blanks that part it elsewhere. */
export function changesList(assignment: Assignment, baseline: Assignment | undefined): string {
  return withCommas(changesText(assignment, baseline));
}

/** A whole assignment, with commas. */
export function assignmentList(assignment: Assignment): string {
  return withCommas(assignmentText(assignment));
}

function withCommas(text: string): string {
  return text.replaceAll('  ', ', ');
}
