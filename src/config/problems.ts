import { UserError } from '../errors.ts';
import { nearestName } from '../search-space/nearest-name.ts';

/** Keys and list positions from the top of the file. */
export type KeyPath = readonly (string | number)[];

export interface Position {
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

/** One mistake in a study file. */
export interface Problem {
  readonly position: Position;
  /** `target.base_url`, `parameters.page-size[2]`; empty for the file as a whole. */
  readonly where: string;
  /** What is wrong, with the value, as the rest of a sentence. */
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Something in a study file that is allowed and probably not meant. */
export type StudyWarning = Problem;

export interface ProblemOptions {
  readonly hint?: string | undefined;
  /** Point at the key instead of its value. */
  readonly at?: 'key' | 'value';
}

/** Collects mistakes so that all of them are shown together. */
export class Problems {
  readonly #found: Problem[] = [];
  readonly #file: string;
  readonly #locate: (path: KeyPath, at: 'key' | 'value') => Position;

  constructor(file: string, locate: (path: KeyPath, at: 'key' | 'value') => Position) {
    this.#file = file;
    this.#locate = locate;
  }

  add(path: KeyPath, message: string, { hint, at = 'value' }: ProblemOptions = {}): void {
    this.#found.push({ position: this.#locate(path, at), where: formatPath(path), message, hint });
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw studyError(this.#file, this.#found);
  }
}

/** One error for all mistakes of a file, in file order, each with file, line and column. */
export function studyError(file: string, problems: readonly Problem[]): UserError {
  const ordered = [...problems].sort(
    (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
  );
  const [first] = ordered;
  if (first !== undefined && ordered.length === 1) {
    return new UserError(formatProblem(file, first), { hint: first.hint });
  }
  const lines = ordered.map((problem) => {
    const hint = problem.hint === undefined ? '' : ` (${problem.hint})`;
    return `\n  ${formatProblem(file, problem)}${hint}`;
  });
  return new UserError(`${file} has ${String(ordered.length)} mistakes:${lines.join('')}`);
}

/** `study.yaml:12:3: parameters.page-size: ...` */
export function formatProblem(file: string, { position, where, message }: Problem): string {
  const place = `${file}:${String(position.line)}:${String(position.column)}`;
  return where === '' ? `${place}: ${message}` : `${place}: ${where}: ${message}`;
}

export function formatPath(path: KeyPath): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${String(step)}]` : `.${step}`))
    .join('')
    .replace(/^\./, '');
}

/** A value as a message quotes it; long ones are cut. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (~)';
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** `did you mean "x"?`, else the choices themselves where they are few. */
export function suggest(written: string, choices: readonly string[]): string | undefined {
  const nearest = nearestName(written, choices);
  if (nearest !== undefined) return `did you mean "${nearest}"?`;
  return choices.length === 0 ? undefined : `known: ${choices.join(', ')}`;
}
